package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// built is the path of the command, built once for all tests that need a
// process.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "sandboxd-test-")
	if err != nil {
		panic(err)
	}
	built = filepath.Join(dir, "sandboxd")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

var build = sync.OnceValue(func() error {
	if out, err := exec.Command("go", "generate", "../../sandboxd/provider/runs").CombinedOutput(); err != nil {
		return fmt.Errorf("generate init: %w\n%s", err, out)
	}
	cmd := exec.Command("go", "build", "-o", built, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
})

// program returns the command with the init that it embeds.
func program(t *testing.T) string {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return built
}

func TestCheckAndReap(t *testing.T) {
	bin := program(t)
	state := filepath.Join(t.TempDir(), "state")
	out, err := exec.Command(bin, "check", "--state", state).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "can run sandboxes") {
		t.Errorf("check: %v: %s", err, out)
	}
	if out, err := exec.Command(bin, "reap", "--state", state).CombinedOutput(); err != nil {
		t.Errorf("reap: %v: %s", err, out)
	}
	// As nobody in particular, check says what is missing and what to do.
	cmd := exec.Command("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", bin, "check", "--state", state)
	out, err = cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "CAP_SYS_ADMIN") || !strings.Contains(string(out), "run as root") {
		t.Errorf("check without a capability: %v: %s", err, out)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"serv"}, {"check", "--stat", "x"}, {"check", "more"}} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, &stdout, &stderr); code != exitUsage || stderr.Len() == 0 {
			t.Errorf("sandboxd %q: exit %d, %s", args, code, &stderr)
		}
	}
}
