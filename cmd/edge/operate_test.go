package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
)

// operated has a boundary ci that may reach allowed.test, which is at origin.
func operated(origin string) string {
	return `
state: state
listen: {proxy: "127.0.0.1:0", control: control, metrics: "127.0.0.1:0"}
upstream: {resolve: {"allowed.test:80": "` + origin + `"}}
no_intercept: ["*.pinned.test", pinned.test]
limits: {all_tunnels: 100}
timeouts: {drain: 20s}
boundaries:
  - id: ci
    token_file: token
    network_policy: {version: v1, rules: [{match: {host_glob: allowed.test}, action: {type: allow}}]}
`
}

func (s *served) client() *http.Client {
	proxy := &url.URL{Scheme: "http", Host: s.ready.Proxy, User: url.UserPassword("ci", token)}
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyURL(proxy)}}
}

func (s *served) scrape(path string) (int, string) {
	s.t.Helper()
	resp, err := http.Get("http://" + s.ready.Metrics + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// Told to stop, an edge is no longer ready and accepts nothing, but a download
// under way is finished. Ledger: ED-29, LO-5, LO-6
func TestDrainOnSignal(t *testing.T) {
	t.Parallel()
	began, finish := make(chan struct{}), make(chan struct{})
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "be")
		_ = http.NewResponseController(w).Flush()
		close(began)
		<-finish
		_, _ = io.WriteString(w, "gun")
	}))
	defer origin.Close()
	s := serveEdge(t, map[string]string{"edge.yaml": operated(origin.Listener.Addr().String()), "token": token})
	if code, text := s.scrape("/readyz"); code != http.StatusOK {
		t.Errorf("readyz: %d %s", code, text)
	}
	body := make(chan string, 1)
	go func() {
		resp, err := s.client().Get("http://allowed.test/")
		if err != nil {
			body <- err.Error()
			return
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			text = append(text, err.Error()...)
		}
		body <- string(text)
	}()
	<-began
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if code, text := s.scrape("/readyz"); code == http.StatusServiceUnavailable && text == "stopping\n" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("still ready")
		}
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", s.ready.Proxy)
		if err != nil {
			break
		}
		c.Close()
		if time.Now().After(deadline) {
			t.Fatal("still accepts")
		}
	}
	if _, text := s.scrape("/metrics"); !strings.Contains(text, "sallyport_edge_crossings 1\n") {
		t.Error("the crossing under way isn't counted")
	}
	close(finish)
	if text := <-body; text != "begun" {
		t.Errorf("the download ended as %q", text)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, s.stderr)
	}
}

// Ledger: ED-19
func TestNoSecretWhereNothingIsIntercepted(t *testing.T) {
	t.Parallel()
	s := serveEdge(t, map[string]string{"edge.yaml": operated("127.0.0.1:1"), "token": token})
	_, err := s.Open(t.Context(), boundary.Spec{ID: "box", Bindings: []inject.Binding{{Env: "T", Host: "api.pinned.test", Secret: "env:T"}}})
	if err == nil || !strings.Contains(err.Error(), "spec.bindings[0].host: api.pinned.test is in no_intercept") {
		t.Errorf("over the control socket: %v", err)
	}
	// A reload is refused for it, and for nothing else.
	for _, c := range []struct{ data, problem string }{
		{operated("127.0.0.1:1") + "    bindings: [{env: T, host: pinned.test, secret: 'env:T'}]\n", "boundaries[0].bindings[0].host"},
		{operated("127.0.0.1:1") + "    labels: {team: build}\n", ""},
	} {
		s.write("edge.yaml", c.data)
		if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			h, err := s.Health(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(h.Problem, c.problem) && (h.Problem == "") == (c.problem == "") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("problem %q, want %q", h.Problem, c.problem)
			}
		}
	}
}
