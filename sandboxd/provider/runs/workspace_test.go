package runs_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

func TestWorkspaceOfTheHost(t *testing.T) {
	for _, owner := range []struct {
		name     string
		uid, gid int
	}{{"an ordinary user", 4321, 4322}, {"root", 0, 0}} {
		t.Run(owner.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "before"), []byte("there"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "of-others"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{dir, filepath.Join(dir, "before")} {
				if err := os.Chown(path, owner.uid, owner.gid); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chown(filepath.Join(dir, "of-others"), 5555, 5555); err != nil {
				t.Fatal(err)
			}
			sb, _ := newSandbox(t, newProvider(t), func(s *runs.Spec) { s.Workspace = dir })
			out, exit := output(t, sb, shell("stat -c '%U %G' . before of-others; cat before; echo; mkdir sub && echo new >sub/file && cat sub/file; cat of-others 2>/dev/null || echo refused"))
			want := "user user\nuser user\nnobody nogroup\nthere\nnew\nrefused"
			if out != want || exit.Code != 0 {
				t.Errorf("got %q %+v", out, exit)
			}
			for _, path := range []string{"sub", "sub/file"} {
				st, err := os.Stat(filepath.Join(dir, path))
				if err != nil {
					t.Fatal(err)
				}
				if sys := st.Sys().(*syscall.Stat_t); int(sys.Uid) != owner.uid || int(sys.Gid) != owner.gid {
					t.Errorf("%s belongs to %d:%d outside", path, sys.Uid, sys.Gid)
				}
			}
			// Root of the sandbox has no counterpart outside.
			e := shell("touch by-root")
			e.User = "root"
			if out, exit := output(t, sb, e); exit.Code == 0 {
				t.Errorf("root created a file: %s", out)
			}
		})
	}
}

func TestWorkspaceMustNotHoldTheState(t *testing.T) {
	p, state := providerIn(t)
	n, err := p.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(state), link); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(state, "x")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/", state, filepath.Dir(state), link, inside} {
		if _, err := p.Start(t.Context(), runs.Spec{ID: "a", Network: n, Workspace: dir}); err == nil || !strings.Contains(err.Error(), "state") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestFilesOfTheSpec(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), func(s *runs.Spec) {
		s.Files = map[string]runs.File{
			"/etc/ssl/certs/ca-certificates.crt": {Data: []byte("bundle"), Mode: 0o644},
			"/opt/a/b/secret":                    {Data: []byte("x"), Mode: 0o600},
			"/etc/hosts":                         {Data: []byte("127.0.0.1 mine\n"), Mode: 0o644},
		}
	})
	out, _ := output(t, sb, shell("cat /etc/ssl/certs/ca-certificates.crt; echo; stat -c '%U %a' /opt/a/b/secret; cat /opt/a/b/secret 2>/dev/null; cat /etc/hosts"))
	if out != "bundle\nroot 600\n127.0.0.1 mine" {
		t.Errorf("got %q", out)
	}
}

// What the host keeps to itself isn't in its image: files that only some may
// read, even to root of the sandbox, and configuration with credentials.
func TestHostImageKeepsSecrets(t *testing.T) {
	hidden := "/usr/local/share/sallyport-test-hidden"
	if err := os.WriteFile(hidden, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Remove(hidden) }()
	sb, _ := newSandbox(t, newProvider(t), nil)
	e := shell("cat " + hidden + " 2>/dev/null && echo readable; ls -d /etc/shadow /etc/gshadow /etc/sudoers /etc/gitconfig /etc/npmrc /etc/pip.conf /etc/ssh /etc/apt/auth.conf /etc/apt/auth.conf.d /etc/ssl/private /etc/machine-id /boot /var/lib/docker /run/docker.sock 2>/dev/null; ls -A /root /home /run /opt /srv /mnt")
	e.User = "root"
	out, _ := output(t, sb, e)
	want := "/home:\nuser\n\n/mnt:\n\n/opt:\n\n/root:\n\n/run:\n\n/srv:"
	if out != want {
		t.Errorf("got %q", out)
	}
}

func TestToolsOfTheHostWork(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), nil)
	cases := []struct{ script, want string }{
		{"whoami", "user"},
		{"cd ~ && pwd && touch x && ls", "/home/user\nx"},
		{"getent hosts localhost | wc -l", "1"},
		{"cat /etc/resolv.conf", "nameserver " + runs.Nameserver},
		{"hostname", sb.ID()},
		{"echo x >/tmp/x && cat /tmp/x", "x"},
		{"echo x >/dev/null; head -c 4 /dev/urandom | wc -c", "4"},
		{"echo x >/dev/shm/x && cat /dev/shm/x", "x"},
		{"bash -c 'cat <(echo y)'", "y"},
		{"/usr/bin/python3 -c 'import ssl, json, threading; print(1)'", "1"},
		{"perl -e 'print 1'", "1"},
		{"test $(nproc) -ge 1 && echo yes", "yes"},
		{"date -d @0 +%Y", "1970"},
		{"git init -q r && cd r && git status --short | wc -l", "0"},
		{"apt-config dump >/dev/null && echo yes", "yes"},
		{"stat -c %a /tmp /var/tmp /dev/shm", "1777\n1777\n1777"},
	}
	for _, c := range cases {
		if out, exit := output(t, sb, shell(c.script)); out != c.want {
			t.Errorf("%s: got %q %+v, want %q", c.script, out, exit, c.want)
		}
	}
}
