package edge_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/edge/boundary"
)

// refs is what git takes for the references of a repository.
const refs = "0123456789012345678901234567890123456789\trefs/heads/answered\n"

// A realClient is a program that asks $URL/info/refs by the proxy in
// $https_proxy, trusts $CA alone, and prints what it got: the references, or
// the status that it was refused with.
type realClient struct{ name, script string }

var realClients = []realClient{
	{"curl", `curl -sS -m 60 --cacert "$CA" -w ' status %{http_code}' "$URL/info/refs"`},
	{"git", `GIT_SSL_CAINFO=$CA GIT_TERMINAL_PROMPT=0 git -c http.version=HTTP/1.1 ls-remote "$URL" 2>&1`},
	{"python", `SSL_CERT_FILE=$CA SSL_CERT_DIR=/nowhere /usr/bin/python3 -c '
import os, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(os.environ["URL"] + "/info/refs", timeout=60).read().decode())
except urllib.error.HTTPError as err:
    print("status", err.code)'`},
	{"node", `node -e '
const http = require("http"), https = require("https"), tls = require("tls"), fs = require("fs");
const url = new URL(process.env.URL + "/info/refs"), proxy = new URL(process.env.https_proxy);
const connect = http.request({host: proxy.hostname, port: proxy.port, method: "CONNECT",
  path: url.hostname + ":443", headers: {Host: url.hostname + ":443"}});
connect.on("connect", (res, socket) => {
  if (res.statusCode !== 200) { console.log("status", res.statusCode); socket.destroy(); return; }
  const inner = tls.connect({socket, servername: url.hostname, ca: fs.readFileSync(process.env.CA)}, () => {
    https.get({createConnection: () => inner, defaultPort: 443, host: url.hostname, path: url.pathname}, (r) => {
      console.log("status", r.statusCode);
      r.pipe(process.stdout);
      r.on("end", () => inner.destroy());
    });
  });
  inner.on("error", (err) => { console.log(err.message); process.exit(1); });
});
connect.end();'`},
}

// run returns what the client printed.
func (c realClient) run(b *bed, proxy, host, ca string) string {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", c.script)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir(), "https_proxy=http://" + proxy, "URL=https://" + host, "CA=" + ca}
	out, err := cmd.CombinedOutput()
	if err != nil {
		out = fmt.Append(out, "\n", err)
	}
	return string(out)
}

// caFile writes an authority's certificate to a file.
func (b *bed) caFile(a *certs.Authority) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "ca.pem")
	b.must(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw}), 0o600))
	return path
}

// eachClient runs a test with each real client, at the same time.
func eachClient(t *testing.T, test func(*bed, realClient)) {
	for _, c := range realClients {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			test(newBed(t), c)
		})
	}
}

func answerRefs(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, refs) }

// What a limit refuses is shown by each client as 429. Ledger: ED-26
func TestClientsMeetLimits(t *testing.T) {
	t.Parallel()
	eachClient(t, func(b *bed, c realClient) {
		b.origin("www.allowed.test", answerRefs)
		b.put(boundary.Spec{ID: boxID, Limits: boundary.Limits{RequestsPerSecond: 1}}, defaultPolicy)
		b.start()
		ctx, cancel := context.WithCancel(context.Background())
		var hog sync.WaitGroup
		hog.Go(func() { // takes all that there is, however long the client needs
			for greedy := b.client(true); ctx.Err() == nil; {
				if resp, err := greedy.Get("https://www.allowed.test/"); err == nil {
					resp.Body.Close()
				}
				time.Sleep(5 * time.Millisecond) // that is greedy enough
			}
		})
		defer hog.Wait()
		defer cancel()
		var out string
		for range 5 { // it may be the client that gets the one of this second
			if out = c.run(b, b.proxy, "www.allowed.test", b.caFile(b.opts.Authority)); strings.Contains(out, "429") {
				return
			}
		}
		b.Errorf("never refused: %s", out)
	})
}

// A host that isn't intercepted shows its own certificate to each client, and a
// client that trusts the edge alone doesn't take it. Ledger: ED-19
func TestClientsPassWhatIsNotIntercepted(t *testing.T) {
	t.Parallel()
	eachClient(t, func(b *bed, c realClient) {
		b.noIntercept("pinned.allowed.test")
		b.origin("pinned.allowed.test", answerRefs)
		b.start()
		if out := c.run(b, b.proxy, "pinned.allowed.test", b.caFile(b.origins)); !strings.Contains(out, "answered") {
			b.Errorf("with the origin's CA: %s", out)
		}
		if out := c.run(b, b.proxy, "pinned.allowed.test", b.caFile(b.opts.Authority)); strings.Contains(out, "answered") {
			b.Errorf("with the edge's CA: %s", out)
		}
		if out := c.run(b, b.proxy, "denied.allowed.test", b.caFile(b.opts.Authority)); !strings.Contains(out, "403") {
			b.Errorf("denied: %s", out)
		}
	})
}

// Each client gets through a parent proxy, and is shown its refusals as ours.
func TestClientsBehindAParentProxy(t *testing.T) {
	t.Parallel()
	eachClient(t, func(b *bed, c realClient) {
		p := &parent{b: b}
		b.origin("www.allowed.test", answerRefs)
		p.origin = b.pins[b.hostPort("www.allowed.test", 443)].String()
		delete(b.pins, b.hostPort("www.allowed.test", 443))
		ln := b.listen()
		srv := &http.Server{Handler: p, ErrorLog: discardLog}
		b.serve(srv, func() error { return srv.Serve(ln) })
		b.opts.Parent = &url.URL{Scheme: "http", Host: ln.Addr().String(), User: url.UserPassword("edge", "pass word")}
		b.start()
		ca := b.caFile(b.opts.Authority)
		if out := c.run(b, b.proxy, "www.allowed.test", ca); !strings.Contains(out, "answered") {
			b.Errorf("%s", out)
		}
		if out := c.run(b, b.proxy, "forbidden.allowed.test", ca); !strings.Contains(out, "403") {
			b.Errorf("refused by the parent: %s", out)
		}
	})
}

// What a client has under way is finished while the edge drains. Ledger: ED-29
func TestClientsFinishWhileDraining(t *testing.T) {
	t.Parallel()
	eachClient(t, func(b *bed, c realClient) {
		began, finish := make(chan struct{}), make(chan struct{})
		b.origin("www.allowed.test", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, refs[:20])
			_ = http.NewResponseController(w).Flush()
			if strings.HasSuffix(r.URL.Path, "/info/refs") {
				close(began)
				<-finish
			}
			_, _ = io.WriteString(w, refs[20:])
		})
		b.start()
		out := make(chan string, 1)
		go func() { out <- c.run(b, b.proxy, "www.allowed.test", b.caFile(b.opts.Authority)) }()
		select {
		case <-began:
		case text := <-out:
			b.Fatalf("the request never arrived: %s", text)
		}
		drained := make(chan error, 1)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		go func() { drained <- b.edge.Drain(ctx) }()
		for { // until the edge accepts nothing more
			k, err := http.Get("http://" + b.proxy + "/")
			if err != nil {
				break
			}
			k.Body.Close()
			time.Sleep(time.Millisecond)
		}
		close(finish)
		if text := <-out; !strings.Contains(text, "answered") {
			b.Errorf("%s", text)
		}
		b.must(<-drained)
	})
}
