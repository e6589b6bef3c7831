package integration_test

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// These tests count what is on the machine, so they don't run beside others.

// Ledger: SL-1
func TestTwoHundredSandboxesLeaveNothing(t *testing.T) {
	const runs, atOnce = 200, 2
	home, env := ownHome(t, asRoot)
	warmUp(t, asRoot, env)
	before := measure(t, home)
	work := make(chan int)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for range work {
				run(t, asRoot, env, product.Path("sallyport"), "run", "--", "true").want(t, 0)
			}
		})
	}
	start := time.Now()
	for i := range runs {
		work <- i
	}
	close(work)
	workers.Wait()
	t.Logf("%d sandboxes, %d at a time, in %v", runs, atOnce, time.Since(start).Round(time.Millisecond))
	before.settles(t, home)
}

func TestEveryEndLeavesNothing(t *testing.T) {
	for _, who := range callers {
		for name, script := range map[string]string{
			"failure":        "exit 3",
			"signal":         "kill -9 $$",
			"daemons":        "setsid sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000' & sleep 0.1",
			"fork and leave": "for i in 1 2 3 4 5 6 7 8; do (trap '' TERM HUP INT; sleep 1000) & done",
			"many files":     "cd /workspace && mkdir -p a/b/c && for i in $(seq 500); do echo $i >a/b/c/$i; done; chmod 0 a",
		} {
			t.Run(who.name+"/"+name, func(t *testing.T) {
				home, env := ownHome(t, who)
				warmUp(t, who, env)
				before := measure(t, home)
				cmd := command(t, who, env, product.Path("sallyport"), "run", "--", "sh", "-c", script)
				_ = cmd.Run() // its code is another test's matter
				before.settles(t, home)
			})
		}
	}
}

// Ledger: SL-1. What a killed sallyport could not remove, the next one does.
func TestKilledRunIsReapedByTheNext(t *testing.T) {
	for _, who := range callers {
		t.Run(who.name, func(t *testing.T) {
			home, env := ownHome(t, who)
			warmUp(t, who, env)
			before := measure(t, home)
			for range 3 {
				cmd := command(t, who, env, product.Path("sallyport"), "run", "--", "sh", "-c", "echo started; sleep 1000")
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				if line, err := bufio.NewReader(out).ReadString('\n'); err != nil && err != io.EOF || line != "started\n" {
					t.Fatalf("the command said %q, %v", line, err)
				}
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait() // killed
			}
			res := run(t, who, env, product.Path("sallyport"), "run", "--", "true")
			res.want(t, 0)
			before.settles(t, home)
		})
	}
}

// ownHome returns a folder of who's own, and the variables that make it the place
// for all that a run writes.
func ownHome(t *testing.T, who caller) (string, []string) {
	t.Helper()
	home := folder(t, who)
	return home, []string{"HOME=" + home, "TMPDIR=" + home, "XDG_RUNTIME_DIR=" + home}
}

// warmUp runs one sandbox, so that the directories in which a user's runs have
// theirs are there before the footprint is taken.
func warmUp(t *testing.T, who caller, env []string) {
	t.Helper()
	run(t, who, env, product.Path("sallyport"), "run", "--", "true").want(t, 0)
}

func TestTimeoutEndsTheWholeTree(t *testing.T) {
	dir := share(t)
	res := run(t, asRoot, nil, product.Path("sallyport"), "run", "--timeout", "1s", "--workspace", dir, "--",
		"sh", "-c", "setsid sh -c 'while :; do date >/workspace/alive; sleep 0.1; done' & sleep 1000")
	if res.code == 0 {
		t.Error("a command that was cut off says that it succeeded")
	}
	contains(t, strings.ToLower(res.stderr), "time")
	processes, err := exec.Command("sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(processes), "date >"+filepath.Join("/workspace", "alive")) {
		t.Error("a process of the sandbox lives on")
	}
}
