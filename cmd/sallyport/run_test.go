package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"encoding/pem"
)

// programsDir is where programs has built them.
var programsDir string

// programs builds the programs once and returns their directory.
var programs = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "sallyport-programs"); err != nil {
		return "", err
	}
	programsDir = dir
	if err := os.Chmod(dir, 0o755); err != nil { // for ordinary users
		return dir, err
	}
	for _, args := range [][]string{
		{"generate", "../../sandboxd/..."},
		{"build", "-o", dir, ".", "../edge", "../sandboxd"},
	} {
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("go %v: %w\n%s", args, err, out)
		}
	}
	return dir, nil
})

// sallyport returns the command with the given arguments. Its directory of
// runs is base.
func sallyport(t *testing.T, base string, args ...string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make sandboxes")
	}
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "sallyport"), args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+base)
	return cmd
}

// shortDir returns a directory whose path leaves room for a socket's.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// leftovers returns what runs below base have left behind.
func leftovers(t *testing.T, base string) []string {
	t.Helper()
	var left []string
	for _, pattern := range []string{"sallyport-*/runs/*", "sallyport-*/provider/sandboxes/*"} {
		found, err := filepath.Glob(filepath.Join(base, pattern))
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, found...)
	}
	return left
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

func TestRunExitCode(t *testing.T) {
	t.Parallel()
	base := shortDir(t)
	cases := []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"success", []string{"--", "true"}, 0, "", ""},
		{"the command's own", []string{"--", "sh", "-c", "exit 7"}, 7, "", ""},
		{"signal", []string{"--", "sh", "-c", "kill -9 $$"}, 137, "", ""},
		{"no such command", []string{"--", "no-such-command"}, 127, "", "no-such-command"},
		{"not executable", []string{"--", "/etc/passwd"}, 126, "", "/etc/passwd"},
		{"out of time", []string{"--timeout", "300ms", "--", "sleep", "60"}, 124, "", "timed out after 300ms"},
		{"flags of the command", []string{"--", "echo", "--timeout"}, 0, "--timeout\n", ""},
		{"flags without a separator", []string{"echo", "--timeout", "1s"}, 0, "--timeout 1s\n", ""},
		{"unknown flag", []string{"--tmeout", "1s", "--", "true"}, 2, "", "unknown flag"},
		{"variable", []string{"--env", "A=b c", "--", "sh", "-c", `echo "$A"`}, 0, "b c\n", ""},
		{"directory", []string{"--workdir", "/tmp", "--", "pwd"}, 0, "/tmp\n", ""},
		{"user", []string{"--", "id", "-u"}, 0, "1000\n", ""},
		{"root", []string{"--user", "root", "--", "id", "-u"}, 0, "0\n", ""},
		{"input", []string{"--", "cat"}, 0, "input", ""},
		{"terminal", []string{"--tty", "--", "sh", "-c", "test -t 0 && test -t 1 && echo yes"}, 0, "yes\r\n", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			cmd := sallyport(t, base, append([]string{"run"}, c.args...)...)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if !slices.Contains(c.args, "--tty") { // whose terminal would echo it
				cmd.Stdin = strings.NewReader("input")
			}
			code := exitCode(t, cmd.Run())
			if code != c.code || stdout.String() != c.stdout || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %d, %q, %q",
					code, stdout.String(), stderr.String(), c.code, c.stdout, c.stderr)
			}
			if c.stderr == "" && stderr.Len() > 0 {
				t.Errorf("stderr %q", stderr.String())
			}
		})
	}
	if left := leftovers(t, base); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// An ordinary user gets the same boundary, in a user namespace of its own.
func TestRunOrdinaryUser(t *testing.T) {
	t.Parallel()
	const nobody = 65534
	base := shortDir(t)
	if err := os.Chown(base, nobody, nobody); err != nil {
		t.Skipf("needs root, to become another user: %v", err)
	}
	for script, want := range map[string]string{
		"id -u":                         "1000\n",
		"getent hosts example.com":      "198.18.0.1      example.com\n",
		"getent hosts other.test || :":  "",
		"curl -sS https://example.com/": "0 example.com",
	} {
		args := append([]string{"run", "--allow", "example.com"}, origin(t)...)
		cmd := sallyport(t, base, append(args, "--", "sh", "-c", script)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s: %v, %q, want %q", script, err, out, want)
		}
	}
	if left := leftovers(t, base); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// origin is an HTTPS server that answers with the Authorization that it got.
// It returns the flags that lead the host api.test to it.
func origin(t *testing.T) []string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		fmt.Fprint(w, len(r.Header.Get("Authorization")), " ", r.Host)
	}))
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(shortDir(t), "ca.pem")
	if err := os.Chmod(filepath.Dir(ca), 0o755); err != nil { // for ordinary users
		t.Fatal(err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o644); err != nil {
		t.Fatal(err)
	}
	// The test certificate of net/http/httptest is for example.com.
	return []string{"--resolve", "example.com:443=" + server.Listener.Addr().String(), "--upstream-ca", ca}
}

func TestRunSecret(t *testing.T) {
	t.Parallel()
	base, audit := shortDir(t), filepath.Join(t.TempDir(), "audit.jsonl")
	args := append([]string{"run", "--allow", "example.com", "--secret", "API_TOKEN@example.com", "--audit", audit}, origin(t)...)
	args = append(args, "--", "sh", "-c", `echo "$API_TOKEN"; curl -sS -H "Authorization: Bearer $API_TOKEN" https://example.com/`)
	var stdout, stderr bytes.Buffer
	cmd := sallyport(t, base, args...)
	const value = "c4nary-of-just-this-length"
	cmd.Env = append(cmd.Env, "API_TOKEN="+value)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s%s", err, stdout.String(), stderr.String())
	}
	placeholder, answer, _ := strings.Cut(stdout.String(), "\n")
	if placeholder == "" || strings.Contains(stdout.String(), value) {
		t.Errorf("the command sees %q", stdout.String())
	}
	if want := fmt.Sprint(len("Bearer "+value), " example.com"); answer != want {
		t.Errorf("the origin got %q, want %q", answer, want)
	}
	log, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(log, []byte(`"host":"example.com"`)) || bytes.Contains(log, []byte(value)) {
		t.Errorf("audit log: %s", log)
	}
}

// Ledger: NP-23: a secret opens no host.
func TestRunReachesNothingByDefault(t *testing.T) {
	t.Parallel()
	args := append([]string{"run", "--secret", "API_TOKEN@example.com"}, origin(t)...)
	args = append(args, "--", "curl", "-sS", "https://example.com/")
	var stderr bytes.Buffer
	cmd := sallyport(t, shortDir(t), args...)
	cmd.Env = append(cmd.Env, "API_TOKEN=c4nary")
	cmd.Stderr = &stderr
	if code := exitCode(t, cmd.Run()); code == 0 || !strings.Contains(stderr.String(), "403") {
		t.Errorf("exit code %d, %s", code, stderr.String())
	}
}

// started starts a command that writes one line when it is ready, and returns
// once it has.
func started(t *testing.T, base, script string, flags ...string) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := sallyport(t, base, append(append([]string{"run"}, flags...), "--", "sh", "-c", script)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() // fails once it has been waited for
	})
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	return cmd, lines
}

func TestRunForwardsSignals(t *testing.T) {
	t.Parallel()
	base := shortDir(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		cmd, _ := started(t, base, `trap 'exit 42' INT TERM HUP USR1; echo ready; while :; do sleep 0.05; done`)
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if code := exitCode(t, cmd.Wait()); code != 42 {
			t.Errorf("%v: exit code %d, want 42", sig, code)
		}
	}
	cmd, _ := started(t, base, "echo ready; exec sleep 60")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd.Wait()); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d of a command that SIGTERM ended", code)
	}
	if left := leftovers(t, base); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Case: E25: nothing outlives a run that is killed, and the next one removes
// its files.
func TestRunKilled(t *testing.T) {
	t.Parallel()
	base := shortDir(t)
	cmd, _ := started(t, base, "echo ready; exec sleep 60")
	children := descendants(t, cmd.Process.Pid)
	if len(children) < 2 {
		t.Fatalf("children %v, want the edge and the sandbox", children)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	deadline := time.Now().Add(10 * time.Second)
	for _, pid := range children {
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d outlives the run", pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	if len(leftovers(t, base)) == 0 {
		t.Error("the killed run left nothing behind: what follows proves nothing")
	}
	if err := sallyport(t, base, "run", "--", "true").Run(); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, base); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// descendants returns the processes below pid.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(data)) {
			var child int
			if _, err := fmt.Sscan(field, &child); err != nil {
				t.Fatal(err)
			}
			all = append(append(all, child), descendants(t, child)...)
		}
	}
	return all
}

// alive reports whether pid is a process that still runs.
func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(after, "Z")
}
