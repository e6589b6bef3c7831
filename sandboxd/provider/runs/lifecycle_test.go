package runs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

func TestLimits(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), func(s *runs.Spec) {
		s.Limits = runs.Limits{MemoryBytes: 64 << 20, Processes: 20, CPUs: 0.5}
	})
	t.Run("memory", func(t *testing.T) {
		out, exit := output(t, sb, python("b = bytearray(200 << 20)"))
		if exit.Code != 137 || !exit.OOM {
			t.Errorf("%+v %s", exit, out)
		}
		out, exit = output(t, sb, shell("/usr/bin/python3 -c 'b = bytearray(200 << 20)'"))
		if exit.Code != 137 || !exit.OOM {
			t.Errorf("below a shell: %+v %s", exit, out)
		}
		if _, exit := output(t, sb, shell("kill -9 $$")); exit.Code != 137 || exit.OOM {
			t.Errorf("killed otherwise: %+v", exit)
		}
	})
	t.Run("processes", func(t *testing.T) {
		out, _ := output(t, sb, python(`
import os, errno
n = 0
try:
    while n < 100:
        if os.fork() == 0:
            import signal
            signal.pause()
        n += 1
except OSError as e:
    print(errno.errorcode[e.errno], n < 20, flush=True)
os.killpg(0, 9)
`))
		if out != "EAGAIN True" {
			t.Errorf("got %q", out)
		}
	})
	t.Run("cpu", func(t *testing.T) {
		out, _ := output(t, sb, python(`
import time
t, c = time.monotonic(), time.process_time()
while time.monotonic() - t < 2: pass
print((time.process_time() - c) / (time.monotonic() - t) < 0.8)
`))
		if out != "True" {
			t.Errorf("more than half a CPU: %s", out)
		}
	})
}

// resources counts what a sandbox is made of.
func resources(t *testing.T) map[string]int {
	t.Helper()
	count := make(map[string]int)
	for name, pattern := range map[string]string{
		"descriptors": "/proc/self/fd/*",
		"cgroups":     fmt.Sprintf("/sys/fs/cgroup/*/sallyport/left-%d-*", os.Getpid()),
		"cgroups, v2": fmt.Sprintf("/sys/fs/cgroup/sallyport/left-%d-*", os.Getpid()),
	} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			if st, err := os.Stat(p); err == nil && (name == "descriptors" || st.IsDir()) {
				count[name]++
			}
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	count["mounts"] = strings.Count(string(mounts), "\n")
	children, err := exec.Command("pgrep", "-P", fmt.Sprint(os.Getpid())).Output()
	var none *exec.ExitError
	if err != nil && !errors.As(err, &none) {
		t.Fatal(err)
	}
	count["children"] = strings.Count(string(children), "\n") - 1 // pgrep itself
	return count
}

func TestNothingIsLeft(t *testing.T) {
	p, state := providerIn(t)
	cycle := func(id string) {
		n, err := p.Network(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sb, err := p.Start(t.Context(), runs.Spec{ID: id, Network: n})
		if err != nil {
			t.Fatal(err)
		}
		e := shell("exec >/dev/null 2>&1; mkdir -p a/b && chmod 0 a/b && (sleep 600 &) ; (setsid sleep 600 &); echo x >/tmp/f; ln -s / l")
		if out, exit := output(t, sb, e); exit.Code != 0 {
			t.Fatalf("%+v %s", exit, out)
		}
		for range 2 {
			if err := sb.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := sb.Exec(t.Context(), shell("true")); !errors.Is(err, runs.ErrStopped) {
			t.Errorf("exec after stop: %v", err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	cycle(fmt.Sprintf("left-%d-first", os.Getpid())) // what is opened once
	before := resources(t)
	for i := range 50 {
		cycle(fmt.Sprintf("left-%d-%d", os.Getpid(), i))
	}
	after := resources(t)
	for name, n := range after {
		if n > before[name] {
			t.Errorf("%s: %d before, %d after", name, before[name], n)
		}
	}
	if left, err := os.ReadDir(filepath.Join(state, "sandboxes")); err != nil || len(left) > 0 {
		t.Errorf("%v %v is left", left, err)
	}
}

func TestSandboxEndsWithItsInit(t *testing.T) {
	sb, _ := newSandbox(t, newProvider(t), nil)
	p, err := sb.Exec(t.Context(), shell("sleep 600"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	if err := sb.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(ctx); !errors.Is(err, runs.ErrLost) {
		t.Errorf("wait: %v", err)
	}
	select {
	case <-sb.Done():
	default:
		t.Error("not done")
	}
}

func TestIDIsTaken(t *testing.T) {
	p := newProvider(t)
	sb, n := newSandbox(t, p, nil)
	if _, err := p.Start(t.Context(), runs.Spec{ID: sb.ID(), Network: n}); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("got %v", err)
	}
	if out, _ := output(t, sb, shell("echo alive")); out != "alive" {
		t.Errorf("the other one: %q", out)
	}
	if err := p.Reap(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, _ := output(t, sb, shell("echo alive")); out != "alive" {
		t.Errorf("after a reap: %q", out)
	}
}

// Whoever starts a sandbox reaps first, while others' sandboxes come and go.
func TestReapWhileOthersEnd(t *testing.T) {
	p := newProvider(t)
	reaped := make(chan error, 1)
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				reaped <- nil
				return
			default:
			}
			if err := p.Reap(t.Context()); err != nil {
				reaped <- err
				return
			}
		}
	}()
	for range 20 {
		sb, _ := newSandbox(t, p, nil)
		if err := sb.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	if err := <-reaped; err != nil {
		t.Errorf("reap: %v", err)
	}
}

func TestStartIsCancelled(t *testing.T) {
	p, state := providerIn(t)
	n, err := p.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Start(ctx, runs.Spec{ID: "cancelled", Network: n}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(state, "sandboxes")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// ownerEnv makes the test program own a sandbox in that state directory until
// it is killed.
const ownerEnv = "RUNS_TEST_OWNER"

func own(dir string) {
	p, err := runs.New(runs.Config{StateDir: dir, Init: filepath.Join(dir, "sbinit")})
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := p.Network(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	sb, err := p.Start(context.Background(), runs.Spec{ID: "orphan", Network: n})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := sb.Exec(context.Background(), shell("setsid sleep 600")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ready")
	select {}
}

// A provider that is killed takes its sandboxes along, and the next one clears
// up after it.
func TestKilledOwner(t *testing.T) {
	p, state := providerIn(t)
	program, err := os.ReadFile(initProgram)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, "sbinit"), program, 0o700); err != nil {
		t.Fatal(err)
	}
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerEnv+"="+state)
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "ready\n" {
		_ = owner.Process.Kill()
		t.Fatalf("%q %v", line, err)
	}
	dir := filepath.Join(state, "sandboxes", "orphan")
	if err := p.Reap(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("reaped while its owner lived: %v", err)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()

	procs, err := filepath.Glob("/sys/fs/cgroup/*/sallyport/orphan.*/cgroup.procs")
	if err != nil || len(procs) == 0 {
		t.Fatalf("no cgroup to look at: %v", err)
	}
	deadline := time.Now().Add(testTimeout)
	for _, file := range procs {
		for {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("processes survived: %s", b)
			}
			time.Sleep(time.Millisecond)
		}
	}
	if err := p.Reap(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
	if left, _ := filepath.Glob("/sys/fs/cgroup/*/sallyport/orphan.*"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
