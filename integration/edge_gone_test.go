package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tries uses the network over and over, by the proxy and without, and writes
// down how each try ended.
const tries = `
while :; do
	curl -sS -o /dev/null --max-time 2 https://` + apiHost + `/; echo $? >>/workspace/tries
	env -u HTTPS_PROXY -u https_proxy curl -sS -o /dev/null --max-time 2 https://` + apiHost + `/; echo $? >>/workspace/tries
	env -u HTTPS_PROXY -u https_proxy curl -sS -o /dev/null --max-time 2 --resolve ` + apiHost + `:443:192.0.2.1 https://` + apiHost + `/; echo $? >>/workspace/tries
done`

// With the edge gone nothing gets out, though the sandbox lives on; and when
// all that holds the sandbox is gone, so is the sandbox.
//
// Ledger: ED-5
func TestNoEdgeNoNetwork(t *testing.T) {
	t.Parallel()
	for _, who := range callers {
		for _, victim := range []string{"edge", "sallyport"} {
			t.Run(who.name+"/"+victim, func(t *testing.T) {
				t.Parallel()
				w, dir := newWorld(t, apiHost), folder(t, who)
				args := append([]string{"run", "--workspace", dir}, allow(w.flags(), apiHost)...)
				cmd := command(t, who, nil, product.Path("sallyport"), append(args, "--", "sh", "-c", tries)...)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					_ = cmd.Process.Signal(syscall.SIGTERM) // gone already, if it was the victim
					_ = cmd.Wait()                          // killed
				})
				outcomes := waitForTries(t, dir, 3)
				if slices.Contains(outcomes, "7") || !slices.Contains(outcomes, "0") {
					t.Fatalf("before: tries ended with %q, want 0", outcomes)
				}

				if len(inside(t, dir)) == 0 {
					t.Fatal("no process of the sandbox is to be seen")
				}
				killed := 0
				for _, pid := range descendants(t, cmd.Process.Pid) {
					if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); exe == product.Path(victim) {
						if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
							t.Fatal(err)
						}
						killed++
					}
				}
				if killed == 0 {
					t.Fatalf("no %s to kill", victim)
				}
				if victim == "sallyport" {
					for end := time.Now().Add(20 * time.Second); len(inside(t, dir)) > 0; time.Sleep(50 * time.Millisecond) {
						if time.Now().After(end) {
							t.Fatalf("sallyport was killed and these live on: %q", inside(t, dir))
						}
					}
					return
				}
				at := len(waitForTries(t, dir, 0))
				after := waitForTries(t, dir, at+5)[at+1:] // one was on its way
				if slices.Contains(after, "0") {
					t.Errorf("after the edge was gone, tries ended with %q", after)
				}
			})
		}
	}
}

// waitForTries waits until n tries have ended and returns how each did.
func waitForTries(t *testing.T, dir string, n int) []string {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(dir, "tries"))
		if got := strings.Fields(string(text)); err == nil && len(got) >= n {
			return got
		}
	}
	t.Fatalf("no %d tries within a minute", n)
	return nil
}

// inside returns the processes whose working directory is dir, which is a
// sandbox's workspace.
func inside(t *testing.T, dir string) []string {
	t.Helper()
	want, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	var living []string
	cwds, _ := filepath.Glob("/proc/[0-9]*/cwd") // the pattern is well-formed
	for _, cwd := range cwds {
		if at, err := os.Stat(cwd); err == nil && os.SameFile(at, want) {
			living = append(living, cwd)
		}
	}
	return living
}

// descendants returns a process and all that descend from it.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	all := []int{pid}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	parents := map[int]int{}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it is gone
		}
		var child, parent int
		var state string
		_, rest, _ := strings.Cut(string(text), ") ") // the name may hold anything
		if _, err := fmt.Sscan(filepath.Base(filepath.Dir(path)), &child); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(rest, &state, &parent); err == nil {
			parents[child] = parent
		}
	}
	for i := 0; i < len(all); i++ {
		for child, parent := range parents {
			if parent == all[i] {
				all = append(all, child)
			}
		}
	}
	return all
}
