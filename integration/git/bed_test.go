package git_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/edge/control"
	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/authorship"
	"github.com/sallyport/sallyport/sandboxd/githelper"
	"github.com/sallyport/sallyport/sandboxd/inside"
	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// session is a sandbox that outlives a command, started as sandboxd does it:
// an edge of its own, a boundary with grants, the helper and the hooks.
type session struct {
	sandbox *runs.Sandbox
	env     []string
	audit   string
	edge    *exec.Cmd
	exited  chan struct{} // once the edge has
	stop    func()        // ends the edge; can be called again
}

// flag returns the value of one of the forge's flags.
func (f *forge) flag(name string) string { return f.flags[slices.Index(f.flags, name)+1] }

// startEdge starts an edge that knows the forge.
func (f *forge) startEdge(t *testing.T, s *session, dir, programs string) *control.Client {
	t.Helper()
	name, addr, _ := strings.Cut(f.flag("--resolve"), "=")
	key := filepath.Join(filepath.Dir(f.flag("--issuers")), "app.pem")
	socket, file := filepath.Join(dir, "control"), filepath.Join(dir, "edge.json")
	data, err := json.Marshal(config.Document{
		State: dir, Audit: s.audit, Listen: config.DocumentListen{Control: socket},
		Upstream: config.DocumentUpstream{Resolve: map[string]string{name: addr}, ExtraRoots: []string{f.flag("--upstream-ca")}},
		Issuers:  map[string]config.DocumentIssuer{"github": {Kind: "github", Host: host, AppID: "4711", PrivateKey: "file:" + key}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s.edge = exec.Command(filepath.Join(programs, "edge"), "serve", "--config", file, "--ephemeral", "--until-stdin-closes", "--log-level", "warn")
	stdin, err := s.edge.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := s.edge.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.edge.Stderr = os.Stderr
	if err := s.edge.Start(); err != nil {
		t.Fatal(err)
	}
	s.exited = make(chan struct{})
	out := bufio.NewReader(stdout)
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatalf("the edge isn't ready: %v", err)
	}
	go func() {
		defer close(s.exited)
		out.WriteTo(nopWriter{})
		s.edge.Wait()
	}()
	s.stop = func() { stdin.Close(); <-s.exited }
	t.Cleanup(s.stop)
	return control.NewClient(socket)
}

type nopWriter struct{}

func (nopWriter) Write(p []byte) (int, error) { return len(p), nil }

// session starts a sandbox with grants.
func (f *forge) session(t *testing.T, grants []broker.Grant) *session {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make sandboxes")
	}
	programs, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "gitmount")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &session{audit: filepath.Join(dir, "audit.jsonl")}
	edge := f.startEdge(t, s, dir, programs)
	provider, err := runs.New(runs.Config{StateDir: filepath.Join(dir, "provider"), Init: filepath.Join(programs, "sbinit")})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "provider"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	network, err := provider.Network(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { network.Close() })
	rules, err := policy.Parse([]byte(`{"version":"v1","rules":[{"match":{"host_glob":"` + host + `"},"action":{"type":"allow"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	id := filepath.Base(dir)
	_, err = edge.Open(ctx, boundary.Spec{ID: id, NetworkPolicy: rules, Git: grants},
		control.Listener{Kind: control.ListenProxy, Socket: network.Proxy},
		control.Listener{Kind: control.ListenTransparent, Socket: network.Transparent},
		control.Listener{Kind: control.ListenDNS, Socket: network.DNS},
		control.Listener{Kind: control.ListenBroker, Socket: network.Broker})
	if err != nil {
		t.Fatal(err)
	}
	files := s.prepare(ctx, t, edge, grants, programs)
	if s.sandbox, err = provider.Start(ctx, runs.Spec{ID: id, Network: network, Files: files}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.sandbox.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

// prepare returns the files of the sandbox, and sets the variables of its
// commands.
func (s *session) prepare(ctx context.Context, t *testing.T, edge *control.Client, grants []broker.Grant, programs string) map[string]runs.File {
	t.Helper()
	ca, err := edge.Trust(ctx)
	if err != nil {
		t.Fatal(err)
	}
	roots, err := certs.SystemRoots()
	if err != nil {
		t.Fatal(err)
	}
	trust, err := certs.NewTrust("/etc/sallyport", []byte(ca), roots)
	if err != nil {
		t.Fatal(err)
	}
	helper, err := os.ReadFile(filepath.Join(programs, "git-credential-sallyport"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]runs.File{githelper.Path: {Data: helper, Mode: 0o755}}
	for name, data := range trust.Files() {
		files[name] = runs.File{Data: data, Mode: 0o644}
	}
	for name, data := range authorship.Files() {
		files[name] = runs.File{Data: data, Mode: 0o755}
	}
	granted, err := broker.Compile(grants)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PATH": "/usr/bin:/bin", "HOME": "/home/user", "LANG": "C.UTF-8"}
	maps.Copy(env, githelper.Env(granted.All(), authorship.Settings()))
	maps.Copy(env, trust.Env(&url.URL{Scheme: "http", Host: runs.ProxyAddr}))
	for name, value := range env {
		s.env = append(s.env, name+"="+value)
	}
	return files
}

// run implements inside.Runner.
func (s *session) run(ctx context.Context, c inside.Command) (inside.Result, error) {
	user := "user"
	if c.Root {
		user = "root"
	}
	var stdout, stderr inside.Buffer
	process, err := s.sandbox.Exec(ctx, runs.Exec{
		Argv: c.Argv, Env: append(slices.Clone(s.env), c.Env...), Dir: c.Dir, User: user,
		Stdin: strings.NewReader(c.Stdin), Stdout: &stdout, Stderr: &stderr,
	})
	if err != nil {
		return inside.Result{}, err
	}
	exit, err := process.Wait(ctx)
	if err == nil && exit.Reason != "" {
		err = errors.New(exit.Reason)
	}
	return inside.Result{Code: exit.Code, Stdout: stdout.String(), Stderr: stderr.String()}, err
}

// sh runs a script as the sandbox's user and returns what it writes.
func (s *session) sh(t *testing.T, script string) string {
	t.Helper()
	got, err := s.run(t.Context(), inside.Command{Argv: []string{"sh", "-c", script}, Dir: "/"})
	if err != nil || got.Code != 0 {
		t.Errorf("%v, exit code %d: %s\n%s%s", err, got.Code, script, got.Stdout, got.Stderr)
	}
	return strings.TrimSpace(got.Stdout)
}
