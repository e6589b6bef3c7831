package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestUp starts both daemons as a user does.
// Ledger: CL-1
func TestUp(t *testing.T) {
	t.Parallel()
	// A short path, for the edge's socket is below it.
	state, err := os.MkdirTemp("", "up")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	first, lines := up(t, state)
	api, key, _ := strings.Cut(lines, "\n")
	if !regexp.MustCompile(`^API http://127\.0\.0\.1:\d+$`).MatchString(api) || !regexp.MustCompile(`^key sp_\w+\n$`).MatchString(key) {
		t.Errorf("it says %q", lines)
	}

	// The other commands find it, and its key, by the state alone.
	if out, err := sallyport(t, state, "env", "create", "--state", state, "--name", "web").CombinedOutput(); err != nil {
		t.Errorf("create: %v: %s", err, out)
	}
	out, err := sallyport(t, state, "up", "--state", state).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "already") {
		t.Errorf("a second one: %v: %s", err, out)
	}
	end(t, first)
	if out, err := sallyport(t, state, "env", "list", "--state", state).CombinedOutput(); err == nil || !strings.Contains(string(out), "doesn't run") {
		t.Errorf("after its end: %v: %s", err, out)
	}

	// The next one has the same key and what was saved.
	second, lines := up(t, state)
	if _, again, _ := strings.Cut(lines, "\n"); again != key {
		t.Errorf("another key: %q, %q", key, again)
	}
	if out, err := sallyport(t, state, "env", "list", "--state", state).CombinedOutput(); err != nil || !strings.Contains(string(out), "web") {
		t.Errorf("list: %v: %s", err, out)
	}
	end(t, second)
	for _, name := range []string{addressFile, filepath.Join(edgeDir, "control")} {
		if _, err := os.Lstat(filepath.Join(state, name)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

// up starts the command and returns it with the two lines that it prints.
func up(t *testing.T, state string) (*exec.Cmd, string) {
	t.Helper()
	cmd := sallyport(t, state, "up", "--state", state)
	log := &bytes.Buffer{}
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // which has no effect once it was waited for
	out, lines := bufio.NewReader(stdout), ""
	for range 2 {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("up: %v, %v: %s", err, cmd.Wait(), log)
		}
		lines += line
	}
	return cmd, lines
}

// end stops it as a terminal does.
func end(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("stop: %v: %s", err, cmd.Stderr)
	}
}
