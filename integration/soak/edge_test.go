package soak_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/integration/harness"
)

// Hosts of the tests. What is denied has an address all the same, so that a
// connection there would be seen.
const (
	boundHost   = "bound.soak.test"
	allowedHost = "allowed.soak.test"
	deniedHost  = "denied.soak.test"

	realSecret = "s3cr3t-of-the-soak-4711"
	boxToken   = "token-of-the-soak-box"
)

// An edgeProcess is a real edge with one static boundary, "box", behind a proxy
// with credentials. It may reach boundHost, for which it has a secret, and
// allowedHost.
type edgeProcess struct {
	t         *testing.T
	dir       string
	configure func(proxy string) string
	wrap      []string // a command that starts it

	mu      sync.Mutex
	cmd     *exec.Cmd
	proxy   string // address; the same after a restart
	metrics string
	stderr  bytes.Buffer
}

// startEdge starts an edge; upstream is that key of its configuration. Its
// files are removed with the test.
func startEdge(t *testing.T, ca *harness.CA, upstream string, wrap ...string) *edgeProcess {
	t.Helper()
	e := &edgeProcess{t: t, dir: t.TempDir(), wrap: wrap}
	for name, text := range map[string]string{"origins.pem": string(ca.PEM()), "token": boxToken, "secret": realSecret} {
		if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.configure = func(proxy string) string {
		return fmt.Sprintf(`
state: state
listen: {proxy: %q, control: control, metrics: "127.0.0.1:0"}
upstream: %s
timeouts: {drain: 1s}
boundaries:
  - id: box
    token_file: token
    network_policy: {version: v1, rules: [{match: {host_glob: %s}, action: {type: allow}}, {match: {host_glob: %s}, action: {type: allow}}]}
    bindings: [{env: API_TOKEN, host: %s, secret: "file:secret"}]
`, proxy, upstream, boundHost, allowedHost, boundHost)
	}
	e.start("127.0.0.1:0")
	t.Cleanup(e.kill)
	return e
}

// start starts the process and waits until it is ready.
func (e *edgeProcess) start(proxy string) {
	e.t.Helper()
	config := filepath.Join(e.dir, "edge.yaml")
	if err := os.WriteFile(config, []byte(e.configure(proxy)), 0o600); err != nil {
		e.t.Fatal(err)
	}
	argv := append(append([]string{}, e.wrap...), program, "serve", "--config", config, "--log-level", "error")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = &e.stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		e.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	var ready struct{ Proxy, Metrics string }
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		e.t.Fatalf("the edge isn't ready: %v: %s", err, &e.stderr)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cmd, e.proxy, e.metrics = cmd, ready.Proxy, ready.Metrics
}

// kill ends the process at once.
func (e *edgeProcess) kill() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cmd == nil {
		return
	}
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait() // "killed" is what was asked for
	e.cmd = nil
}

// end asks the process to stop, and waits until it has.
func (e *edgeProcess) end() {
	e.mu.Lock()
	cmd := e.cmd
	e.cmd = nil
	e.mu.Unlock()
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		e.t.Errorf("the edge ended with %v", err)
	}
}

// rss returns the resident memory of the process in bytes.
func (e *edgeProcess) rss() int64 {
	e.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", e.cmd.Process.Pid))
	if err != nil {
		e.t.Fatal(err)
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		e.t.Fatal("no VmRSS")
	}
	kib, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		e.t.Fatal(err)
	}
	return kib << 10
}

// peakRSS notes the largest resident memory until stop is called.
func (e *edgeProcess) peakRSS() (stop func() int64) {
	var peak int64
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				peak = max(peak, e.rss())
			}
		}
	})
	return func() int64 { close(done); wg.Wait(); return max(peak, e.rss()) }
}

// gauge returns the value of a metric without labels.
func (e *edgeProcess) gauge(name string) float64 {
	e.t.Helper()
	resp, err := http.Get("http://" + e.metrics + "/metrics")
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + name + ` ([0-9.e+]+)$`).FindSubmatch(body)
	if m == nil {
		e.t.Fatalf("no metric %s in %s", name, body)
	}
	value, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		e.t.Fatal(err)
	}
	return value
}

// roots returns the edge's own CA, which survives its restarts.
func (e *edgeProcess) roots() *x509.CertPool {
	e.t.Helper()
	text, err := os.ReadFile(filepath.Join(e.dir, "state", "authority", "ca.pem"))
	if err != nil {
		e.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

// placeholder returns what the box has in the place of the secret.
func (e *edgeProcess) placeholder() string {
	e.t.Helper()
	control := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(e.dir, "control"))
	}}}
	resp, err := control.Get("http://edge/v1/boundaries/box/env")
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	m := regexp.MustCompile(`"API_TOKEN":\s*"([^"]+)"`).FindSubmatch(body)
	if m == nil {
		e.t.Fatalf("no placeholder in %s", body)
	}
	return string(m[1])
}

// client returns a client in the box.
func (e *edgeProcess) client(timeout time.Duration) *http.Client {
	proxy := &url.URL{Scheme: "http", Host: e.proxy, User: url.UserPassword("box", boxToken)}
	tr := &http.Transport{
		Proxy:               http.ProxyURL(proxy),
		TLSClientConfig:     &tls.Config{RootCAs: e.roots()},
		MaxIdleConnsPerHost: 10_000,
	}
	e.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: timeout}
}
