// Asks an HTTPS origin in one of Node's ways and prints what it answers.
// Without a URL, "ws" prints which WebSocket client there is.
const [way, url] = process.argv.slice(2);

function fail(err) {
  console.error([err, err.cause].filter(Boolean).map((e) => e.message || String(e)).join(': '));
  process.exit(1);
}

function webSocket() {
  module.paths.push('/usr/share/nodejs', '/usr/lib/node_modules', '/usr/local/lib/node_modules', '/workspace/node_modules');
  try {
    return ['ws ' + require('ws/package.json').version, require('ws')];
  } catch {
    return globalThis.WebSocket ? ['built in', globalThis.WebSocket] : [];
  }
}

const ways = {
  fetch: () => fetch(url).then((r) => r.text()).then(console.log).catch(fail),
  https: () => require('https').get(url, (r) => r.pipe(process.stdout)).on('error', fail),
  ws: () => {
    const [name, Client] = webSocket();
    if (!Client || !url) {
      if (name) console.log(process.version, name);
      return;
    }
    const socket = new Client(url);
    socket.onopen = () => socket.send('hello');
    socket.onmessage = (m) => { console.log(m.data); socket.close(); };
    socket.onerror = (e) => fail(e.error || e);
  },
};
ways[way]();
