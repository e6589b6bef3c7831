package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport/edge/control"
)

// programDir is where program has built it.
var programDir string

// program builds the command once and returns its path. Without cgo it is what
// make build makes.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "edge-program")
	if err != nil {
		return "", err
	}
	programDir = dir
	path := filepath.Join(dir, "edge")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// served is an edge that runs.
type served struct {
	*control.Client
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.Closer
	ready  ready
	dir    string
	stderr *lockedBuffer
}

// serveEdge starts an edge with the given configuration, in whose directory
// are the given files too.
func serveEdge(t *testing.T, files map[string]string, flags ...string) *served {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "edge")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &served{t: t, dir: dir, stderr: &lockedBuffer{}}
	for name, data := range files {
		s.write(name, data)
	}
	s.cmd = exec.Command(path, append([]string{"serve", "--config", filepath.Join(dir, "edge.yaml"), "--until-stdin-closes"}, flags...)...)
	s.cmd.Stderr = s.stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop() })
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the edge isn't ready: %v\n%s", err, s.stderr)
	}
	if err := json.Unmarshal(line, &s.ready); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	s.Client = control.NewClient(s.ready.Control)
	return s
}

func (s *served) write(name, data string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(data), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// stop closes the edge's standard input, once, and expects a clean end.
func (s *served) stop() {
	if s.cmd.ProcessState != nil {
		return
	}
	s.stdin.Close()
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the edge ended with %v\n%s", err, s.stderr)
	}
}

// proxyStatus returns the answer of the edge's proxy to CONNECT host:443 with
// the credentials of boundary ci.
func (s *served) proxyStatus(host string) int {
	s.t.Helper()
	var status int
	client := http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: s.ready.Proxy, User: url.UserPassword("ci", token)}),
			OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
				status = resp.StatusCode
				return nil
			},
		},
	}
	resp, err := client.Get("https://" + host + "/")
	if err == nil {
		resp.Body.Close()
	}
	return status
}

const token = "0123456789abcdef"

// configuration has a boundary ci that may reach the given host.
func configuration(host string) string {
	return `
state: state
listen: {proxy: "127.0.0.1:0", control: control}
upstream: {resolve: {"allowed.test:443": "127.0.0.1:1"}}
boundaries:
  - id: ci
    token_file: token
    network_policy: {version: v1, rules: [{match: {host_glob: '` + host + `'}, action: {type: allow}}]}
`
}

// Case: B19.
func TestReload(t *testing.T) {
	t.Parallel()
	s := serveEdge(t, map[string]string{"edge.yaml": configuration("allowed.test"), "token": token})
	reload := func(data string, wantProblem string) {
		t.Helper()
		s.write("edge.yaml", data)
		if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			h, err := s.Health(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(h.Problem, wantProblem) && (h.Problem == "") == (wantProblem == "") {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("problem %q, want %q", h.Problem, wantProblem)
			}
		}
	}
	expect := func(host string, want int) {
		t.Helper()
		if got := s.proxyStatus(host); got != want {
			t.Errorf("CONNECT %s: %d, want %d", host, got, want)
		}
	}
	expect("allowed.test", http.StatusOK)
	expect("other.test", http.StatusForbidden)

	for in, problem := range map[string]string{
		"":                              "state: expected",
		"state: [":                      "edge.yaml",
		configuration("[broken"):        "host_glob",
		"state: state\nlisten: {}\n":    "listen: expected",
		"state: s\nlisten: {proxy: a}":  "listen.proxy",
		configuration("*") + "extra: 1": "extra: unknown key",
		strings.Replace(configuration("*"), "state: state", "state: elsewhere", 1): "restart",
	} {
		reload(in, problem)
		expect("allowed.test", http.StatusOK)
		expect("other.test", http.StatusForbidden)
	}
	if !strings.Contains(s.stderr.String(), "the last good configuration stays in force") {
		t.Errorf("log: %s", s.stderr)
	}

	reload(configuration("other.test"), "")
	expect("allowed.test", http.StatusForbidden)
	expect("other.test", http.StatusOK)

	s.write("token", "another-token-of-ci")
	reload(configuration("[broken"), "host_glob")
	expect("other.test", http.StatusOK)
	reload(configuration("other.test"), "")
	expect("other.test", http.StatusProxyAuthRequired)
}

func TestSecretsNeverReachTheLog(t *testing.T) {
	t.Parallel()
	s := serveEdge(t, map[string]string{"edge.yaml": configuration("allowed.test"), "token": token}, "--log-level", "debug")
	const value = "c4nary"
	if err := s.SetSecret(t.Context(), "name", []byte(value)); err != nil {
		t.Fatal(err)
	}
	if err := s.SetSecret(t.Context(), "name", []byte(value+"\n")); err == nil {
		t.Error("accepted a value that no header can carry")
	}
	s.stop()
	if log := s.stderr.String(); strings.Contains(log, value) || strings.Contains(log, token) {
		t.Errorf("log: %s", log)
	}
}

func TestSignalStops(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		s := serveEdge(t, map[string]string{"edge.yaml": configuration("allowed.test"), "token": token})
		if err := s.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("%v: %v\n%s", sig, err, s.stderr)
		}
		if _, err := os.Stat(s.ready.Control); err == nil {
			t.Errorf("%v: the control socket is left behind", sig)
		}
	}
}

func TestConfined(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	none := []string{"\nNoNewPrivs:\t1\n", "\nCapEff:\t0000000000000000\n", "\nCapPrm:\t0000000000000000\n", "\nCapInh:\t0000000000000000\n"}
	cases := []struct {
		name  string
		flags []string
		want  []string
	}{
		{"other user", []string{"--user", "61234:61235"}, append([]string{
			"\nUid:\t61234\t61234\t61234\t61234\n", "\nGid:\t61235\t61235\t61235\t61235\n", "\nGroups:\t \n",
		}, none...)},
		{"root", nil, none},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serveEdge(t, map[string]string{"edge.yaml": configuration("allowed.test"), "token": token}, c.flags...)
			checkThreads(t, s.cmd.Process.Pid, c.want)
			// What can't be inspected belongs to root in /proc.
			var st syscall.Stat_t
			if err := syscall.Stat(fmt.Sprintf("/proc/%d/mem", s.cmd.Process.Pid), &st); err != nil || st.Uid != 0 {
				t.Errorf("owner of /proc/PID/mem: %d, %v", st.Uid, err)
			}
			if _, err := s.Health(t.Context()); err != nil {
				t.Errorf("root isn't heard: %v", err)
			}
			if got := s.proxyStatus("other.test"); got != http.StatusForbidden {
				t.Errorf("CONNECT: %d", got)
			}
		})
	}
}

// checkThreads expects each of the given lines in the status of every thread.
func checkThreads(t *testing.T, pid int, want []string) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(threads) < 2 {
		t.Fatalf("threads: %v, %v", threads, err)
	}
	for _, thread := range threads {
		data, err := os.ReadFile(thread)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range want {
			if !bytes.Contains(data, []byte(line)) {
				t.Errorf("%s: no %q in\n%s", thread, line, data)
			}
		}
	}
}

// lockedBuffer can be read while a process writes to it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
