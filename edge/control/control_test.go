package control_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/control"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/memory"
)

// greeter is a Fronts that answers each connection, or datagram, with the
// name of its front and the boundary it was served for.
type greeter struct{}

func (greeter) ServeProxy(ctx context.Context, ln net.Listener, id string) error {
	return greet(ln, "proxy "+id)
}

func (greeter) ServeTransparent(ctx context.Context, ln net.Listener, id string) error {
	return greet(ln, "transparent "+id)
}

func (greeter) ServeBroker(ctx context.Context, ln net.Listener, id string) error {
	return greet(ln, "broker "+id)
}

func (greeter) ServeDNS(ctx context.Context, conn *net.UDPConn, id string) error {
	buf := make([]byte, 512)
	for {
		_, from, err := conn.ReadFrom(buf)
		if err != nil {
			return err
		}
		if _, err := conn.WriteTo([]byte("dns "+id), from); err != nil {
			return err
		}
	}
}

func greet(ln net.Listener, text string) error {
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		fmt.Fprint(c, text)
		c.Close()
	}
}

type fixture struct {
	*control.Client
	path    string
	table   *boundary.Table
	secrets *memory.Source
}

// serve starts a control server that is stopped, and must stop cleanly, when
// the test ends.
func serve(t *testing.T) fixture {
	t.Helper()
	return serveWith(t, func(*control.Options, string) {})
}

// serveWith is serve with further options, of which it tells the directory.
func serveWith(t *testing.T, more func(o *control.Options, dir string)) fixture {
	t.Helper()
	dir, err := os.MkdirTemp("", "control") // short: a socket's path has 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	ln, err := control.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{control.NewClient(path), path, &boundary.Table{}, memory.New()}
	options := control.Options{
		Table: f.table, Key: inject.Key{1}, Fronts: greeter{}, Secrets: f.secrets, CA: "certificate", Log: slog.New(slog.DiscardHandler),
	}
	more(&options, dir)
	server := control.NewServer(options)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("server stopped with %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("server doesn't stop")
		}
	})
	return f
}

func listenTCP(t *testing.T) *net.TCPListener {
	t.Helper()
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

func read(t *testing.T, addr string) string {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	text, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func ask(t *testing.T, addr string) string {
	t.Helper()
	c, err := net.Dial("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Write([]byte("?")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 512)
	n, err := c.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func TestListenersArriveAndServe(t *testing.T) {
	t.Parallel()
	f := serve(t)
	proxy, transparent := listenTCP(t), listenTCP(t)
	dns, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	env, err := f.Open(t.Context(), boundary.Spec{ID: "one"},
		control.Listener{Kind: control.ListenProxy, Socket: proxy},
		control.Listener{Kind: control.ListenTransparent, Socket: transparent},
		control.Listener{Kind: control.ListenDNS, Socket: dns})
	if err != nil {
		t.Fatal(err)
	}
	if env == nil {
		t.Error("no environment in the answer")
	}
	addrs := []string{proxy.Addr().String(), transparent.Addr().String(), dns.LocalAddr().String()}
	// From here on only the edge's copies are left.
	proxy.Close()
	transparent.Close()
	dns.Close()
	for i, want := range []string{"proxy one", "transparent one"} {
		if got := read(t, addrs[i]); got != want {
			t.Errorf("%s answers %q, want %q", addrs[i], got, want)
		}
	}
	if got := ask(t, addrs[2]); got != "dns one" {
		t.Errorf("DNS answers %q", got)
	}
	if err := f.Close(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs[:2] {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			t.Errorf("%s still accepts after the boundary has closed", addr)
		}
	}
	if f.table.Get("one") != nil {
		t.Error("the closed boundary is still in the table")
	}
}

func TestReplacement(t *testing.T) {
	t.Parallel()
	f := serve(t)
	first, second := listenTCP(t), listenTCP(t)
	open := func(listeners ...control.Listener) {
		t.Helper()
		if _, err := f.Open(t.Context(), boundary.Spec{ID: "one"}, listeners...); err != nil {
			t.Fatal(err)
		}
	}
	open(control.Listener{Kind: control.ListenProxy, Socket: first})
	before := f.table.Get("one")
	addr := first.Addr().String()
	first.Close()

	open()
	if f.table.Get("one") == before {
		t.Error("the boundary wasn't replaced")
	}
	if got := read(t, addr); got != "proxy one" {
		t.Errorf("listener lost by a replacement without listeners: %q", got)
	}

	open(control.Listener{Kind: control.ListenProxy, Socket: second})
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Error("the old listener outlives its replacement")
	}
	if got := read(t, second.Addr().String()); got != "proxy one" {
		t.Errorf("new listener answers %q", got)
	}
}

// Ledger: ED-27: what can't be loaded changes nothing.
func TestRefusedRequestChangesNothing(t *testing.T) {
	t.Parallel()
	f := serve(t)
	if _, err := f.Open(t.Context(), boundary.Spec{ID: "one"}); err != nil {
		t.Fatal(err)
	}
	before := f.table.Get("one")
	cases := []struct{ name, body, want string }{
		{"unknown key", `{"spec": {"id": "one", "polcy": {}}}`, "spec.polcy: unknown key"},
		{"unknown key outside", `{"spec": {"id": "one"}, "force": true}`, "force: unknown key"},
		{"wrong type", `{"spec": {"id": "one"}, "listeners": "proxy"}`, "listeners: expected a list"},
		{"not JSON", `id: one`, "not valid JSON"},
		{"another id", `{"spec": {"id": "two"}}`, "expected the id in the path"},
		{"missing descriptor", `{"spec": {"id": "one"}, "listeners": ["proxy"]}`, "1 are named, 0 descriptors arrived"},
		{"bad digest", `{"spec": {"id": "one", "token_sha256": "00"}}`, "token_sha256"},
	}
	for _, c := range cases {
		status, body := raw(t, f.path, "PUT", "/v1/boundaries/one", c.body)
		if status != http.StatusBadRequest || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s, want 400 with %q", c.name, status, body, c.want)
		}
	}
	if f.table.Get("one") != before {
		t.Error("a refused request replaced the boundary")
	}
}

func TestBadIDs(t *testing.T) {
	t.Parallel()
	f := serve(t)
	for _, id := range []string{"", "..", "a/b", "a b", "a:b", strings.Repeat("x", 129)} {
		if _, err := f.Open(t.Context(), boundary.Spec{ID: id}); err == nil {
			t.Errorf("id %q accepted", id)
		}
	}
	if f.table.Len() != 0 {
		t.Error("a boundary was opened")
	}
}

// raw makes a request with a body that the client would never send.
func raw(t *testing.T, path, method, target, body string) (int, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
	req, err := http.NewRequestWithContext(t.Context(), method, "http://edge"+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

func TestTrustAndHealth(t *testing.T) {
	t.Parallel()
	f := serve(t)
	if ca, err := f.Trust(t.Context()); err != nil || ca != "certificate" {
		t.Errorf("Trust: %q, %v", ca, err)
	}
	if _, err := f.Open(t.Context(), boundary.Spec{ID: "one"}); err != nil {
		t.Fatal(err)
	}
	if h, err := f.Health(t.Context()); err != nil || h.Boundaries != 1 || h.Problem != "" {
		t.Errorf("Health: %+v, %v", h, err)
	}
}

func TestNotFound(t *testing.T) {
	t.Parallel()
	f := serve(t)
	_, envErr := f.Env(t.Context(), "nobody")
	for name, err := range map[string]error{
		"Env":          envErr,
		"Close":        f.Close(t.Context(), "nobody"),
		"DeleteSecret": f.DeleteSecret(t.Context(), "nothing"),
	} {
		if !control.IsNotFound(err) {
			t.Errorf("%s: %v, want not found", name, err)
		}
	}
}

func TestSecretsAreWriteOnly(t *testing.T) {
	t.Parallel()
	f := serve(t)
	const value = "the value of the secret"
	if err := f.SetSecret(t.Context(), "token", []byte(value)); err != nil {
		t.Fatal(err)
	}
	if held, err := f.secrets.Read(t.Context(), "token"); err != nil || string(held.Value.Reveal()) != value {
		t.Errorf("another value arrived: %v", err)
	}
	if err := f.SetSecret(t.Context(), "broken", []byte("two\nlines")); err == nil || strings.Contains(err.Error(), "lines") {
		t.Errorf("a value that no header can carry: %v", err)
	}
	list, err := f.ListSecrets(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "token" {
		t.Errorf("ListSecrets: %v, %v", list, err)
	}
	for _, target := range []string{"/v1/secrets", "/v1/secrets/token"} {
		if _, body := raw(t, f.path, "GET", target, ""); strings.Contains(body, "the value") {
			t.Errorf("GET %s answers the value", target)
		}
	}
	if err := f.DeleteSecret(t.Context(), "token"); err != nil {
		t.Error(err)
	}
}
