package runs_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// Whatever an init answers, the provider neither hangs nor panics nor keeps a
// descriptor of its, and ends the sandbox.
func TestHostileInit(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes namespaces")
	}
	hostile := filepath.Join(t.TempDir(), "hostileinit")
	build := exec.Command("go", "build", "-o", hostile, "./testdata/hostileinit")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p, err := runs.New(runs.Config{StateDir: t.TempDir(), Init: hostile})
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		id      string
		starts  bool
		tty     bool
		nothing string // must not be in the error
	}{
		{id: "garbage"},
		{id: "empty"},
		{id: "too-long"},
		{id: "ready-with-directory"},
		{id: "many-descriptors"},
		{id: "trailing"},
		{id: "control-characters", nothing: "\x1b"},
		{id: "request"},
		{id: "silence"},
		{id: "ready-twice", starts: true},
		{id: "unknown-command", starts: true},
		{id: "exit-first", starts: true},
		{id: "refused-oddly", starts: true},
		{id: "with-descriptor", starts: true},
		{id: "with-descriptor", starts: true, tty: true},
		{id: "started-twice", starts: true},
		{id: "stopped", starts: true},
		{id: "refused-late", starts: true},
		{id: "started-twice", starts: true, tty: true}, // without a terminal
	}
	try := func(t *testing.T, c int) error {
		n, err := p.Network(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = n.Close() }()
		ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
		defer cancel()
		sb, err := p.Start(ctx, runs.Spec{ID: cases[c].id, Network: n})
		if (err == nil) != cases[c].starts {
			t.Errorf("start: %v", err)
		}
		if err != nil {
			return err
		}
		process, err := sb.Exec(ctx, runs.Exec{Argv: []string{"true"}, TTY: cases[c].tty})
		if err == nil {
			_, err = process.Wait(ctx)
		}
		if err == nil {
			t.Error("no error")
		}
		select {
		case <-sb.Done():
		case <-ctx.Done():
			t.Error("the sandbox goes on")
		}
		if err := sb.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
		return err
	}
	_ = try(t, 0) // what is opened once
	before := openDescriptors(t)
	for i, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			err := try(t, i)
			if err != nil && c.nothing != "" && strings.Contains(err.Error(), c.nothing) {
				t.Errorf("the error has %q: %q", c.nothing, err)
			}
		})
	}
	if after := openDescriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
