package runs_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// execWith runs a command with the given input and output.
func execWith(t *testing.T, sb *runs.Sandbox, e runs.Exec) runs.Exit {
	t.Helper()
	p, err := sb.Exec(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

// reconnect takes the socket that it is given for a connection of its own.
const reconnect = `
import ctypes, socket, sys
s = socket.socket(fileno=0)
ctypes.CDLL(None).connect(0, bytes(16), 16)
s.connect(("127.0.0.1", int(sys.argv[1])))
s.send(b"out")
`

// A socket belongs to the network that it was made in: whoever holds it can
// connect it to somewhere else.
func TestSocketStaysOutside(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	socket := os.NewFile(uintptr(fd), "socket")
	defer func() { _ = socket.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	sb, _ := newSandbox(t, newProvider(t), nil)
	e := python(reconnect, port)
	e.Stdin = socket
	if out, exit := output(t, sb, e); exit.Code == 0 || !strings.Contains(out, "Socket operation on non-socket") {
		t.Errorf("the network of the host was reached: %+v %s", exit, out)
	}
}

// A file that the sandbox's user could open may have been given for less.
func TestFileCannotBeOpenedAgain(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), nil)
	dir := t.TempDir()
	in, log := filepath.Join(dir, "in"), filepath.Join(dir, "log")
	for _, name := range []string{in, log} {
		if err := os.WriteFile(name, []byte("before\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	stdin, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	stdout, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdout.Close() }()
	for _, user := range []string{"user", "root"} {
		e := shell("(: >/proc/self/fd/0; : >/proc/self/fd/1; chmod 4777 /proc/self/fd/0 /proc/self/fd/1) 2>/dev/null; echo after")
		e.User, e.Stdin, e.Stdout = user, stdin, stdout
		if exit := execWith(t, sb, e); exit.Code != 0 {
			t.Errorf("%+v", exit)
		}
	}
	for name, want := range map[string]string{in: "before\n", log: "before\nafter\nafter\n"} {
		b, err := os.ReadFile(name)
		if err != nil || string(b) != want {
			t.Errorf("%s holds %q, want %q; %v", name, b, want, err)
		}
		if st, err := os.Stat(name); err != nil || st.Mode() != 0o666 {
			t.Errorf("%s: %v %v", name, st, err)
		}
	}
}

// Only pipes are handed over; whatever else it is given, a command has a pipe.
func TestOnlyPipesAreHandedOver(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), nil)
	for _, name := range []string{os.DevNull, "/dev/zero", "/etc/passwd"} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		e := shell("readlink /proc/self/fd/0")
		e.Stdin = f
		if out, _ := output(t, sb, e); !strings.HasPrefix(out, "pipe:") {
			t.Errorf("of %s a command has %s", name, out)
		}
		_ = f.Close()
	}
}

// Standard output and error that are one file stay one.
func TestOutputKeepsItsOrder(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), nil)
	name := filepath.Join(t.TempDir(), "log")
	files := make([]*os.File, 2)
	for i := range files {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		files[i] = f
	}
	e := shell("for i in $(seq 100); do echo out; echo err >&2; done")
	e.Stdout, e.Stderr = files[0], files[1]
	execWith(t, sb, e)
	b, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(b, bytes.Repeat([]byte("out\nerr\n"), 100)) {
		t.Errorf("%v: %q", err, b)
	}
}
