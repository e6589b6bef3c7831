package runs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// The layer of the host image is shared, and one that nobody uses any more is
// removed when another is made.
func TestHostLayerIsShared(t *testing.T) {
	p, state := providerIn(t)
	layers := filepath.Join(state, "layers")
	for _, path := range []string{filepath.Join(layers, "old", "etc"), filepath.Join(layers, "partial", "etc")} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(layers, "old.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := runs.New(runs.Config{StateDir: state, Init: initProgram})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*runs.Provider{p, again} {
		sb, _ := newSandbox(t, p, nil)
		if out, _ := output(t, sb, shell("id -un; echo changed >/etc/passwd; cat /etc/passwd")); out != "user\nsh: 1: cannot create /etc/passwd: Permission denied\n"+passwdOf(t, sb) {
			t.Errorf("got %q", out)
		}
	}
	entries, err := os.ReadDir(layers)
	if err != nil {
		t.Fatal(err)
	}
	dirs := 0
	for _, e := range entries {
		if e.IsDir() {
			dirs++
		}
	}
	if dirs != 1 {
		t.Errorf("%v is there", entries)
	}
	if _, err := os.Stat(filepath.Join(layers, "old")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an unused layer is left: %v", err)
	}
}

func passwdOf(t *testing.T, sb *runs.Sandbox) string {
	t.Helper()
	out, _ := output(t, sb, runs.Exec{Argv: []string{"cat", "/etc/passwd"}})
	return out
}
