package providertest

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/provider"
)

func testDescribe(t *testing.T, b *bench) {
	d := b.provider.Describe(t.Context())
	if d.Name == "" || d.DisplayName == "" || d.Text == "" {
		t.Errorf("incomplete: %+v", d)
	}
	if !d.Available || d.Reason != "" {
		t.Errorf("not available: %s", d.Reason)
	}
	if err := b.provider.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func testNetwork(t *testing.T, b *bench) {
	n, err := b.provider.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[provider.Kind]bool{}
	for _, l := range n.Listeners() {
		if l.Socket == nil || seen[l.Kind] {
			t.Errorf("listener %s: no socket, or twice", l.Kind)
		}
		seen[l.Kind] = true
	}
	if !seen[provider.Proxy] && !seen[provider.Transparent] {
		t.Error("nothing listens for connections")
	}
	for range 2 {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}

func testLife(t *testing.T, b *bench) {
	sb := b.start(t, nil)
	n, err := b.provider.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	if _, err := b.provider.Start(t.Context(), provider.Spec{ID: sb.ID(), Network: n, Image: host}); err == nil {
		t.Error("a second sandbox of the same id started")
	}
	for _, id := range []string{"", "a/b", "..", strings.Repeat("a", 64), "UPPER"} {
		if _, err := b.provider.Start(t.Context(), provider.Spec{ID: id, Network: n, Image: host}); err == nil {
			t.Errorf("id %q: no error", id)
		}
	}
	if got := sb.sh(t, "echo alive"); got != "alive" {
		t.Errorf("got %q", got)
	}
	stop(t, sb)
	select {
	case <-sb.Done():
	default:
		t.Error("stopped, but not done")
	}
	stop(t, sb)
	if _, err := sb.Exec(t.Context(), shell("true")); !errors.Is(err, provider.ErrStopped) {
		t.Errorf("exec: %v", err)
	}
	if _, err := sb.Capture(t.Context()); err == nil {
		t.Error("captured what was removed")
	}
	// The id is free again.
	again, err := b.provider.Start(t.Context(), provider.Spec{ID: sb.ID(), Network: n, Image: host})
	if err != nil {
		t.Fatal(err)
	}
	stop(t, again)
}

func testExec(t *testing.T, b *bench) {
	sb := b.start(t, nil)
	r := sb.run(t, shell("pwd; echo err >&2; id -un; exit 3"))
	if r.stdout != "/workspace\nuser" || r.stderr != "err" || r.exit.Code != 3 {
		t.Errorf("got %+v", r)
	}
	e := shell("cat; echo $MORE; pwd")
	e.Stdin, e.Env, e.Dir = strings.NewReader("in "), append(e.Env, "MORE=more"), "/tmp"
	if r := sb.run(t, e); r.stdout != "in more\n/tmp" {
		t.Errorf("got %+v", r)
	}
	if r := sb.run(t, provider.Exec{Argv: []string{"/nonexistent"}}); r.exit.Code != 127 || r.exit.Reason == "" {
		t.Errorf("got %+v", r)
	}
	if r := sb.run(t, provider.Exec{Argv: []string{"/etc/passwd"}}); r.exit.Code != 126 || r.exit.Reason == "" {
		t.Errorf("got %+v", r)
	}
	if _, err := sb.Exec(t.Context(), provider.Exec{}); err == nil {
		t.Error("ran nothing")
	}
}

func testSignal(t *testing.T, b *bench) {
	sb := b.start(t, nil)
	p, err := sb.Exec(t.Context(), shell("sleep 1000 & sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(t.Context())
	if err != nil || exit.Code != 128+int(syscall.SIGTERM) || exit.Signal != syscall.SIGTERM {
		t.Errorf("got %+v, %v", exit, err)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("signal to one that ended: %v", err)
	}
	p, err = sb.Exec(t.Context(), shell("sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	stop(t, sb)
	if _, err := p.Wait(t.Context()); !errors.Is(err, provider.ErrLost) {
		t.Errorf("got %v", err)
	}
}

func testFiles(t *testing.T, b *bench) {
	sb := b.start(t, func(s *provider.Spec) {
		s.Files = map[string]provider.File{
			"/opt/a/b/open":   {Data: []byte("x"), Mode: 0o644},
			"/opt/a/b/closed": {Data: []byte("x"), Mode: 0o600},
		}
	})
	if got := sb.sh(t, "cat /opt/a/b/open; stat -c '%U %a' /opt/a/b/*; cat /opt/a/b/closed 2>/dev/null || echo refused"); got != "xroot 600\nroot 644\nrefused" {
		t.Errorf("got %q", got)
	}
}

func testRoot(t *testing.T, b *bench) {
	sb := b.start(t, nil)
	if got := sb.asRoot(t, "id -u; echo x >/etc/of-root; stat -c %U /etc/of-root"); got != "0\nroot" {
		t.Errorf("got %q", got)
	}
	e := shell("true")
	e.User = "somebody"
	if _, err := sb.Exec(t.Context(), e); err == nil {
		t.Error("ran as somebody")
	}
}

func testTerminal(t *testing.T, b *bench) {
	sb := b.start(t, nil)
	e := shell("stty size; test -t 0 && echo terminal")
	e.TTY, e.Rows, e.Cols = true, 12, 34
	if r := sb.run(t, e); strings.ReplaceAll(r.stdout, "\r", "") != "12 34\nterminal" {
		t.Errorf("got %+v", r)
	}
}

func testMemory(t *testing.T, b *bench) {
	sb := b.start(t, func(s *provider.Spec) { s.Limits.MemoryBytes = 64 << 20 })
	r := sb.run(t, shell("exec dd if=/dev/zero of=/dev/null bs=200M count=1"))
	if r.exit.Code != 137 || !r.exit.OOM {
		t.Errorf("got %+v", r)
	}
}
