package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/inject/scan"
	"github.com/sallyport/sallyport/inject/store"
)

// canaries are the secrets by source; each has a host of its own.
var canaries = map[string]string{
	"env":    "c4nary-env-5fGh2Kq9Zx71Lm",
	"file":   "c4nary-file-8sDw3Rt6Yp04Bn",
	"store":  "c4nary-store-1aQz7Xc2Vb59Hj",
	"memory": "c4nary-memory-6uJm4Ik8Lo30Ty",
}

// agent is what runs in the place of a sandbox: it sends each placeholder to
// its host in three ways, one of them refused, keeps all that it is told, and
// writes down its environment and arguments.
const agent = `
set -u
for kind in env file store memory; do
	eval ph=\$KEY_$kind
	url=https://$kind.canary.test/
	curl -sS -i --compressed -H "Authorization: Bearer $ph" "$url" >$kind.bearer 2>&1
	curl -sS -i -u "user:$ph" "$url" >$kind.basic 2>&1
	curl -sS -i -H "X-Wrong: $ph" "$url" >$kind.refused 2>&1
	curl -sS -i -H "Authorization: Bearer $ph" --data "$ph" https://$kind.canary.test/broken >$kind.broken 2>&1
done
env >environment
tr '\0' '\n' </proc/$$/cmdline >arguments
`

// A secret planted through every source and used is found nowhere afterwards:
// not in the sandbox, not in what the edge writes, not where it crashes.
//
// Case: C13
func TestCanaryIsNowhere(t *testing.T) {
	origins, err := certs.New()
	if err != nil {
		t.Fatal(err)
	}
	var seen atomic.Int64
	origin := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth := r.Header.Get("Authorization")
		if _, password, ok := r.BasicAuth(); ok {
			auth = "Bearer " + password
		}
		kind, _, _ := strings.Cut(r.Host, ".")
		if auth == "Bearer "+canaries[kind] {
			seen.Add(1)
		}
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		fmt.Fprintf(w, "%v %x %q", r.Header, auth, auth)
		if r.URL.Path == "/broken" {
			panic(http.ErrAbortHandler)
		}
	}))
	origin.TLS = &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return origins.Leaf(h.ServerName) }}
	origin.StartTLS()
	defer origin.Close()

	t.Setenv("CANARY", canaries["env"])
	t.Setenv("GOTRACEBACK", "all")
	secrets := t.TempDir()
	if err := os.WriteFile(filepath.Join(secrets, "canary"), []byte(canaries["file"]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveEdge(t, map[string]string{
		"edge.yaml": canaryConfiguration(origin.Listener.Addr().String(), secrets), "token": token,
		"origins.pem": string(origins.CertificatePEM()),
	}, "--log-level", "debug")
	if err := s.SetSecret(t.Context(), "canary", []byte(canaries["memory"])); err != nil {
		t.Fatal(err)
	}
	if _, err := store.New(filepath.Join(s.dir, "state")).Put(t.Context(), "canary", []byte(canaries["store"])); err != nil {
		t.Fatal(err)
	}

	sandbox := t.TempDir()
	runAgent(t, s, sandbox)
	if n := seen.Load(); n != 12 {
		t.Errorf("the origin saw %d requests with their secret, want 12", n)
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	requireNoCanary(t, "arguments of the edge", cmdline)

	if err := s.cmd.Process.Signal(syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	s.stdin.Close()
	if err := s.cmd.Wait(); err == nil || !strings.Contains(s.stderr.String(), "goroutine ") {
		t.Fatalf("no crash dump: %v", err)
	}
	requireNoCanary(t, "log and crash dump", []byte(s.stderr.String()))
	requireNoCanaryBelow(t, sandbox, 18)
	requireNoCanaryBelow(t, s.dir, 5) // configuration, audit log and state
}

func canaryConfiguration(origin, secrets string) string {
	var bindings, pins strings.Builder
	for kind, name := range map[string]string{
		"env": "CANARY", "file": filepath.Join(secrets, "canary"), "store": "canary", "memory": "canary",
	} {
		fmt.Fprintf(&bindings, "      - {env: KEY_%s, host: %s.canary.test, secret: '%s:%s'}\n", kind, kind, kind, name)
		fmt.Fprintf(&pins, "%q: %q, ", kind+".canary.test:443", origin)
	}
	return `
state: state
audit: audit.log
listen: {proxy: "127.0.0.1:0", control: control}
upstream: {extra_roots: [origins.pem], resolve: {` + strings.TrimSuffix(pins.String(), ", ") + `}}
boundaries:
  - id: ci
    token_file: token
    network_policy: {version: v1, rules: [{match: {host_glob: '*.canary.test'}, action: {type: allow}}]}
    bindings:
` + bindings.String()
}

// runAgent runs the agent with the boundary's environment and nothing else.
func runAgent(t *testing.T, s *served, dir string) {
	t.Helper()
	env, err := s.Env(t.Context(), "ci")
	if err != nil {
		t.Fatal(err)
	}
	ca, err := s.Trust(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), []byte(ca), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", agent)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HTTPS_PROXY=http://ci:" + token + "@" + s.ready.Proxy, "CURL_CA_BUNDLE=" + filepath.Join(dir, "ca.pem"),
	}
	for name, value := range env {
		if strings.HasPrefix(name, "KEY_") {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func requireNoCanaryBelow(t *testing.T, dir string, atLeast int) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		files++
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		content, err := io.ReadAll(f)
		requireNoCanary(t, path, content)
		return err
	})
	if err != nil || files < atLeast {
		t.Errorf("%s: %d files, want %d; %v", dir, files, atLeast, err)
	}
}

func requireNoCanary(t *testing.T, where string, content []byte) {
	t.Helper()
	for kind, value := range canaries {
		for _, r := range scan.Renderings([]byte(value), []byte("x")) {
			if bytes.Contains(content, r.Text) {
				t.Errorf("%s holds the canary of source %s as %q", where, kind, r.Text)
			}
		}
	}
}
