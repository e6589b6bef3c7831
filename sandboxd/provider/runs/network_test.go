package runs_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// python returns a command that runs a script.
func python(script string, args ...string) runs.Exec {
	return runs.Exec{
		Argv: append([]string{"/usr/bin/python3", "-c", script}, args...),
		Env:  []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "PYTHONDONTWRITEBYTECODE=1"},
	}
}

// serve answers every connection with where it was going.
func serve(l *net.TCPListener, name string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = fmt.Fprintf(c, "%s %s\n", name, c.LocalAddr())
		_ = c.Close()
	}
}

// serveDatagrams answers every datagram with itself.
func serveDatagrams(c *net.UDPConn) {
	b := make([]byte, 512)
	for {
		n, from, err := c.ReadFromUDP(b)
		if err != nil {
			return
		}
		_, _ = c.WriteToUDP(append([]byte("dns "), b[:n]...), from)
	}
}

const connect = `
import socket, sys, time
for a in sys.argv[1:]:
    host, port = a.rsplit(":", 1)
    t = time.time()
    try:
        s = socket.create_connection((host, int(port)), 10)
        print(a, s.makefile().read().strip())
    except OSError as e:
        print(a, type(e).__name__, e.errno, "slow" if time.time() - t > 2 else "")
`

// Ledger: ED-5, ED-6
func TestEveryConnectionArrivesAtOurSockets(t *testing.T) {
	sb, n := newSandbox(t, newProvider(t), nil)
	go serve(n.Proxy, "proxy")
	go serve(n.Transparent, "transparent")
	go serveDatagrams(n.DNS)
	// ECONNREFUSED is 111, ENETUNREACH 101, EADDRNOTAVAIL 99.
	cases := []struct{ to, want string }{
		{"127.0.0.1:3128", "proxy 127.0.0.1:3128"},
		{"93.184.216.34:443", "transparent 93.184.216.34:443"},
		{"93.184.216.34:1", "transparent 93.184.216.34:1"},
		{"8.8.8.8:53", "transparent 8.8.8.8:53"},
		{"169.254.169.254:80", "transparent 169.254.169.254:80"},
		{"10.0.0.1:65535", "transparent 10.0.0.1:65535"},
		{"192.168.1.1:3128", "transparent 192.168.1.1:3128"},
		{"198.18.0.1:15001", "transparent 198.18.0.1:15001"},
		{"::ffff:1.2.3.4:443", "transparent 1.2.3.4:443"},
		{"127.0.0.1:15001", "ConnectionRefusedError 111"},
		{"127.0.0.2:15001", "ConnectionRefusedError 111"},
		{"127.0.0.1:443", "ConnectionRefusedError 111"},
		{"127.1.2.3:3128", "ConnectionRefusedError 111"},
		{"::1:443", "ConnectionRefusedError 111"},
		{"2606:4700::1111:443", "OSError 101"},
		{"fe80::1:443", "OSError"},
	}
	for _, user := range []string{"user", "root"} {
		var args []string
		for _, c := range cases {
			args = append(args, c.to)
		}
		e := python(connect, args...)
		e.User = user
		out, _ := output(t, sb, e)
		if strings.Contains(out, "slow") {
			t.Errorf("as %s, something isn't answered at once:\n%s", user, out)
		}
		lines := strings.Split(out, "\n")
		for i, c := range cases {
			if i >= len(lines) || !strings.HasPrefix(lines[i], c.to+" "+c.want) {
				t.Errorf("as %s: want %q, got\n%s", user, c.want, out)
			}
		}
	}
}

const datagrams = `
import socket, sys, time
def ask(family, host, port):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(10)
    t = time.time()
    try:
        s.connect((host, port))
        s.send(b"q")
        r = s.recv(100).decode()
    except OSError as e:
        r = type(e).__name__
    print(host, port, r, "slow" if time.time() - t > 2 else "")
ask(socket.AF_INET, "192.0.2.53", 53)
ask(socket.AF_INET, "8.8.8.8", 53)
ask(socket.AF_INET, "127.0.0.1", 53)
ask(socket.AF_INET, "8.8.8.8", 443)
ask(socket.AF_INET, "10.0.0.1", 123)
ask(socket.AF_INET6, "2606:4700::1111", 53)
`

// Ledger: ED-5
func TestDatagrams(t *testing.T) {
	sb, n := newSandbox(t, newProvider(t), nil)
	go serveDatagrams(n.DNS)
	out, _ := output(t, sb, python(datagrams))
	want := `192.0.2.53 53 dns q
8.8.8.8 53 dns q
127.0.0.1 53 dns q
8.8.8.8 443 ConnectionRefusedError
10.0.0.1 123 ConnectionRefusedError
2606:4700::1111 53 OSError`
	if got := strings.ReplaceAll(out, " \n", "\n"); strings.TrimSpace(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The sandbox's own loopback stays its own, low ports included.
func TestLoopbackOfItsOwn(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), nil)
	out, exit := output(t, sb, python(`
import socket
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    l = socket.socket(family)
    l.bind((host, 80))
    l.listen()
    c = socket.create_connection((host, 80), 5)
    a, _ = l.accept()
    a.send(b"ok")
    print(c.recv(2).decode())
`))
	if out != "ok\nok" {
		t.Errorf("%q %+v", out, exit)
	}
}

// When nobody holds the sockets any more nothing gets out.
func TestNoWayOutWithoutTheSockets(t *testing.T) {
	sb, n := newSandbox(t, newProvider(t), nil)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	out, _ := output(t, sb, python(connect, "127.0.0.1:3128", "93.184.216.34:443", "8.8.8.8:53"))
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "Error") && !strings.Contains(line, "Timeout") && !strings.Contains(line, "timeout") {
			t.Errorf("got through: %s", line)
		}
	}
}

// Preparing a network must not move any other thread of this program.
func TestNetworkLeavesThreadsAlone(t *testing.T) {
	p := newProvider(t)
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		n, err := p.Network(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = n.Close()
	}
	deadline := time.Now().Add(testTimeout)
	for {
		strays := 0
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			ns, err := os.Readlink("/proc/self/task/" + task.Name() + "/ns/net")
			if err == nil && ns != own {
				strays++
			}
		}
		if strays == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d threads are in another network", strays)
		}
		time.Sleep(time.Millisecond)
	}
}
