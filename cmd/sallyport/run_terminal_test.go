package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// A command with --tty has a terminal of the size of ours, which follows when
// that changes, and gets its keys, Ctrl-C among them.
func TestRunTerminal(t *testing.T) {
	t.Parallel()
	cmd := sallyport(t, shortDir(t), "run", "--tty", "--", "sh", "-c",
		`trap "stty size" WINCH; stty size; while :; do read -r key && echo "got $key"; done`)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 33, Cols: 99})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	defer cmd.Process.Kill() // fails once it has been waited for
	if err := terminal.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var seen bytes.Buffer
	expect := func(text string) {
		t.Helper()
		buf := make([]byte, 4096)
		for !strings.Contains(seen.String(), text) {
			n, err := terminal.Read(buf)
			seen.Write(buf[:n])
			if err != nil {
				t.Fatalf("%v before %q; seen %q", err, text, seen.String())
			}
		}
	}
	expect("33 99\r\n")
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: 44, Cols: 111}); err != nil {
		t.Fatal(err)
	}
	expect("44 111\r\n")
	if _, err := terminal.WriteString("key\r"); err != nil {
		t.Fatal(err)
	}
	expect("got key\r\n")
	if _, err := terminal.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd.Wait()); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if !echoes(t, int(terminal.Fd())) {
		t.Error("the terminal was left without echo")
	}
}

// A pipe is the command's own: it ends when nobody reads any more.
func TestRunBrokenPipe(t *testing.T) {
	t.Parallel()
	cmd := sallyport(t, shortDir(t), "run", "--", "yes")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	r.Close()
	if code := exitCode(t, cmd.Wait()); code != 128+13 {
		t.Errorf("exit code %d, want that of SIGPIPE", code)
	}
}

// What isn't handed over ends in the same way: a socket, which is copied to.
func TestRunBrokenSocket(t *testing.T) {
	t.Parallel()
	base := shortDir(t)
	cmd := sallyport(t, base, "run", "--", "yes")
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	cmd.Stdout = theirs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	if _, err := ours.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	ours.Close()
	if code := exitCode(t, cmd.Wait()); code != 128+13 {
		t.Errorf("exit code %d, want that of SIGPIPE", code)
	}
}
