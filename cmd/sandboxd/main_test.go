package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program builds the command with the init that it embeds.
func program(t *testing.T) string {
	t.Helper()
	if out, err := exec.Command("go", "generate", "../../sandboxd/provider/runs").CombinedOutput(); err != nil {
		t.Fatalf("generate init: %v\n%s", err, out)
	}
	bin := filepath.Join(t.TempDir(), "sandboxd")
	build := exec.Command("go", "build", "-o", bin, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
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
