package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/cmd/sallyport/supervise"
)

// shell is a program that is a script; it notes in order what it did.
type shell struct {
	name, script string
	file         string
}

// served is a script that says that it is ready and waits to be ended.
const served = `echo "$name start" >>"$notes"; trap 'echo "$name stop" >>"$notes"; exit 0' TERM; echo ready; while :; do sleep 0.05; done`

func (s shell) program() supervise.Program {
	return supervise.Program{
		Name: s.name,
		Command: func() (*exec.Cmd, error) {
			cmd := exec.Command("sh", "-c", s.script)
			cmd.Env = append(os.Environ(), "name="+s.name, "notes="+s.file)
			return cmd, nil
		},
		Ready: func(line string) error {
			if line != "ready" {
				return fmt.Errorf("said %q", line)
			}
			return nil
		},
	}
}

func notes(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// quick is for programs that die.
var quick = supervise.Options{Tries: 3, Pause: time.Millisecond}

// Programs start in their order and end in the other one.
func TestOrder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "notes")
	ctx, cancel := context.WithCancel(t.Context())
	err := supervise.Serve(ctx, supervise.Options{}, []supervise.Program{
		shell{"a", served, file}.program(), shell{"b", served, file}.program(),
	}, func() error { cancel(); return nil })
	if err != nil {
		t.Error(err)
	}
	if got, want := notes(t, file), []string{"a start", "b start", "b stop", "a stop"}; !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
}

// A program that dies once is started again; the others don't notice.
func TestRestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "notes")
	ctx, cancel := context.WithCancel(t.Context())
	mortal := shell{"b", `if [ ! -e "$notes.died" ]; then : >"$notes.died"; echo ready; exit 7; fi; ` + served, file}.program()
	ready, starts := mortal.Ready, 0
	var mu sync.Mutex
	mortal.Ready = func(line string) error {
		mu.Lock()
		defer mu.Unlock()
		if starts++; starts == 2 {
			cancel()
		}
		return ready(line)
	}
	err := supervise.Serve(ctx, quick, []supervise.Program{shell{"a", served, file}.program(), mortal}, func() error { return nil })
	if err != nil {
		t.Error(err)
	}
	if got, want := notes(t, file), []string{"a start", "b start", "b stop", "a stop"}; !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
}

// One that dies for good ends all of them, and says why.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, script, says string }{
		{"after it was ready", `echo ready; exit 7`, "b ended 3 times in a row: exit status 7"},
		{"before it was ready", `exit 8`, "b ended 3 times in a row: ended before it was ready: exit status 8"},
		{"it says something else", `echo no; sleep 60`, `b: said "no"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "notes")
			err := supervise.Serve(t.Context(), quick, []supervise.Program{
				shell{"a", served, file}.program(), shell{"b", c.script, file}.program(),
			}, func() error { return nil })
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %s", err, c.says)
			}
			if got, want := notes(t, file), []string{"a start", "a stop"}; !slices.Equal(got, want) {
				t.Errorf("order %q, want %q", got, want)
			}
		})
	}
}

// What the caller can't do once all is ready ends all, too.
func TestCallerFails(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "notes")
	broken := errors.New("no place to print")
	err := supervise.Serve(t.Context(), supervise.Options{}, []supervise.Program{shell{"a", served, file}.program()},
		func() error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// One that ignores the signal is killed.
func TestKilled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	deaf := shell{"a", `trap '' TERM; echo ready; while :; do sleep 0.05; done`, ""}.program()
	err := supervise.Serve(ctx, supervise.Options{StopWithin: 50 * time.Millisecond}, []supervise.Program{deaf},
		func() error { cancel(); return nil })
	if err == nil || !strings.Contains(err.Error(), "stop a: killed") {
		t.Errorf("error %v", err)
	}
}
