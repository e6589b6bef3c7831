package runs_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

func TestExitCodes(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), nil)
	cases := []struct {
		name   string
		exec   runs.Exec
		code   int
		signal os.Signal
		reason string
	}{
		{name: "success", exec: runs.Exec{Argv: []string{"true"}}},
		{name: "its own code", exec: shell("exit 7"), code: 7},
		{name: "a signal", exec: shell("kill -TERM $$"), code: 143, signal: syscall.SIGTERM},
		{name: "no such command", exec: runs.Exec{Argv: []string{"no-such-command"}}, code: 127, reason: "command not found"},
		{name: "no such path", exec: runs.Exec{Argv: []string{"/no/such"}}, code: 127, reason: "command not found"},
		{name: "empty name", exec: runs.Exec{Argv: []string{""}}, code: 127, reason: "command not found"},
		{name: "not executable", exec: runs.Exec{Argv: []string{"/etc/passwd"}}, code: 126, reason: "permission denied"},
		{name: "a directory", exec: runs.Exec{Argv: []string{"/usr"}}, code: 126, reason: "permission denied"},
		{name: "no such directory", exec: runs.Exec{Argv: []string{"true"}, Dir: "/no/such"}, code: 126, reason: "no such file"},
		{name: "a directory of others", exec: runs.Exec{Argv: []string{"true"}, Dir: "/root"}, code: 126, reason: "permission denied"},
		{name: "path of the environment", exec: runs.Exec{Argv: []string{"true"}, Env: []string{"PATH=/nowhere"}}, code: 127, reason: "command not found"},
		{name: "a descriptor of the init as directory", exec: runs.Exec{Argv: []string{"true"}, Dir: "/proc/self/fd/3"}, code: 126, reason: "not a directory"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, exit := output(t, sb, c.exec)
			if exit.Code != c.code || exit.Signal != c.signal || exit.OOM || !strings.Contains(exit.Reason, c.reason) || (c.reason == "") != (exit.Reason == "") {
				t.Errorf("got %+v, want code %d, signal %v, reason %q; output %q", exit, c.code, c.signal, c.reason, out)
			}
		})
	}
}

// Ledger: EX-18
func TestCommandSeesOnlyItsOwn(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_SECRET", "of-the-daemon")
	sb, _ := newSandbox(t, newProvider(t), nil)
	out, _ := output(t, sb, runs.Exec{Argv: []string{"env"}, Env: []string{"PATH=/usr/bin", "A=b c"}})
	if out != "PATH=/usr/bin\nA=b c" {
		t.Errorf("environment is %q", out)
	}
	for _, user := range []string{"user", "root"} {
		e := shell("tr '\\0' '\\n' </proc/1/environ; ls -l /proc/1/fd /proc/1/root /proc/1/cwd; true")
		e.User = user
		out, _ := output(t, sb, e)
		if strings.Contains(out, "=") || strings.Contains(out, "->") {
			t.Errorf("%s sees of process 1: %s", user, out)
		}
	}
	out, _ = output(t, sb, shell("set -- /proc/[0-9]*; echo $#"))
	if out != "2" { // the init and sh
		t.Errorf("%s processes are visible", out)
	}
}

func TestStreams(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), nil)
	ctx := t.Context()
	t.Run("copied", func(t *testing.T) {
		var out, errs bytes.Buffer
		p, err := sb.Exec(ctx, runs.Exec{Argv: []string{"sh", "-c", "cat; echo bad >&2"},
			Stdin: strings.NewReader(strings.Repeat("x", 1<<20)), Stdout: &out, Stderr: &errs})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		if out.Len() != 1<<20 || errs.String() != "bad\n" {
			t.Errorf("got %d bytes and %q", out.Len(), errs.String())
		}
	})
	t.Run("handed over", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "out")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := sb.Exec(ctx, runs.Exec{Argv: []string{"echo", "hello"}, Stdout: f})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		if b, _ := os.ReadFile(path); string(b) != "hello\n" {
			t.Errorf("file holds %q", b)
		}
	})
	t.Run("a directory is refused", func(t *testing.T) {
		d, err := os.Open("/")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = d.Close() }()
		if _, err := sb.Exec(ctx, runs.Exec{Argv: []string{"true"}, Stdout: d}); err == nil {
			t.Error("a directory of the host was handed over")
		}
	})
	t.Run("what stays behind doesn't hold Wait", func(t *testing.T) {
		out, exit := output(t, sb, shell("sleep 600 & echo started"))
		if out != "started" || exit.Code != 0 {
			t.Errorf("got %q %+v", out, exit)
		}
	})
	t.Run("a slow reader gets all", func(t *testing.T) {
		slow := &slowWriter{delay: 20 * time.Millisecond}
		p, err := sb.Exec(ctx, runs.Exec{Argv: []string{"sh", "-c", "sleep 600 & head -c 3000000 /dev/zero"}, Stdout: slow})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		if slow.n != 3000000 {
			t.Errorf("got %d bytes", slow.n)
		}
	})
	t.Run("a writer that fails is reported", func(t *testing.T) {
		p, err := sb.Exec(ctx, runs.Exec{Argv: []string{"head", "-c", "1000000", "/dev/zero"}, Stdout: failingWriter{}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(ctx); !errors.Is(err, errFailing) {
			t.Errorf("got %v", err)
		}
	})
}

type slowWriter struct {
	delay time.Duration
	n     int
}

func (s *slowWriter) Write(b []byte) (int, error) {
	time.Sleep(s.delay)
	s.n += len(b)
	return len(b), nil
}

var errFailing = errors.New("disk full")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFailing }

// Ledger: EX-17
func TestConcurrentCommands(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), nil)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var out bytes.Buffer
			// Orphans of one must not be taken for the other.
			p, err := sb.Exec(t.Context(), runs.Exec{Argv: []string{"sh", "-c", "(sh -c 'exit 99' &) ; echo $0; exit $0", itoa(i)}, Stdout: &out})
			if err != nil {
				t.Error(err)
				return
			}
			exit, err := p.Wait(t.Context())
			if err != nil || exit.Code != i || strings.TrimSpace(out.String()) != itoa(i) {
				t.Errorf("command %d: %+v %q %v", i, exit, out.String(), err)
			}
		}()
	}
	wg.Wait()
}

func itoa(i int) string { return string([]byte{'0' + byte(i/10), '0' + byte(i%10)}) }

func TestSignalReachesTheGroup(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), nil)
	r, w := io.Pipe()
	p, err := sb.Exec(t.Context(), runs.Exec{Argv: []string{"sh", "-c", "trap 'exit 3' TERM; tail -f /dev/null & echo ready; wait"}, Stdout: w})
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 16)
	if n, err := r.Read(b); err != nil || string(b[:n]) != "ready\n" {
		t.Fatalf("%q %v", b, err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := p.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait for a running command: %v", err)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(t.Context())
	if err != nil || exit.Code != 3 {
		t.Errorf("%+v %v", exit, err)
	}
	if out, exit := output(t, sb, shell("for i in $(seq 1000); do pgrep -x tail >/dev/null || exit 0; sleep 0.01; done; exit 1")); exit.Code != 0 {
		t.Errorf("a process of the group is left: %s", out)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("signal after the end: %v", err)
	}
}

func TestTerminal(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), nil)
	in, typed := io.Pipe()
	var out bytes.Buffer
	p, err := sb.Exec(t.Context(), runs.Exec{
		Argv: []string{"sh", "-c", "tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo terminal; read line; stty size; echo got $line"},
		Env:  []string{"PATH=/usr/bin", "TERM=xterm"}, Stdin: in, Stdout: &out, TTY: true, Rows: 30, Cols: 90,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Resize(40, 100); err != nil {
		t.Error(err)
	}
	_, _ = io.WriteString(typed, "hello\n")
	exit, err := p.Wait(t.Context())
	if err != nil || exit.Code != 0 {
		t.Fatalf("%+v %v: %s", exit, err, out.String())
	}
	for _, want := range []string{"/dev/pts/0", "terminal", "40 100", "got hello"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, out.String())
		}
	}
	_ = typed.Close()
	if err := p.Resize(1, 1); err != nil {
		t.Errorf("resize after the end: %v", err)
	}
}

func TestTerminalInputEnds(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), nil)
	out, exit := output(t, sb, runs.Exec{Argv: []string{"cat"}, TTY: true, Stdin: strings.NewReader("last words\n")})
	if exit.Code != 0 || !strings.Contains(out, "last words") {
		t.Errorf("%q %+v", out, exit)
	}
}

func TestRootOfTheSandbox(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), nil)
	e := shell("id -u; touch /etc/by-root /root/x && chown user /etc/by-root && stat -c %U /etc/by-root; setpriv --reuid user --clear-groups id -u")
	e.User = "root"
	if out, exit := output(t, sb, e); out != "0\nuser\n1000" || exit.Code != 0 {
		t.Errorf("%q %+v", out, exit)
	}
	if _, err := sb.Exec(t.Context(), runs.Exec{Argv: []string{"true"}, User: "daemon"}); err == nil {
		t.Error("an unknown user was accepted")
	}
}

func TestLongCommandLine(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), nil)
	long := strings.Repeat("a", 120000) // the kernel's limit for one argument is 128 KiB
	args := []string{"sh", "-c", "echo $(( ${#1} + ${#2} + ${#3} ))", "sh", long, long, long}
	if out, exit := output(t, sb, runs.Exec{Argv: args}); out != "360000" {
		t.Errorf("%q %+v", out, exit)
	}
	out, exit := output(t, sb, runs.Exec{Argv: []string{"echo", strings.Repeat("a", 1<<18)}})
	if exit.Code != 126 || !strings.Contains(exit.Reason, "argument list too long") {
		t.Errorf("%q %+v", out, exit)
	}
}
