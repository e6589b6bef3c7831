package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/store"
)

// writerEnv makes this test binary a writer in a process of its own: it
// rotates one secret of the state directory until it is killed or has done as
// many rounds as the second variable says.
const (
	writerEnv = "SALLYPORT_TEST_STORE"
	roundsEnv = "SALLYPORT_TEST_ROUNDS"
)

func TestMain(m *testing.M) {
	if state := os.Getenv(writerEnv); state != "" {
		os.Exit(write(state))
	}
	os.Exit(m.Run())
}

// rotated is the value of a writer's round: long, and checkable as a whole.
func rotated(i int) string { return fmt.Sprintf("%d:%s", i, strings.Repeat(fmt.Sprint(i%10), 20000)) }

func write(state string) int {
	var rounds int
	if _, err := fmt.Sscan(os.Getenv(roundsEnv), &rounds); err != nil {
		return 2
	}
	s := store.New(state)
	for i := range rounds {
		info, err := s.Put(context.Background(), "shared", []byte(rotated(i)))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(info.Version)
	}
	return 0
}

func writer(t *testing.T, state string, rounds int) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), writerEnv+"="+state, fmt.Sprintf("%s=%d", roundsEnv, rounds))
	cmd.Stderr = os.Stderr
	return cmd
}

// requireWhole reads the shared secret and demands one writer's value of it.
func requireWhole(t *testing.T, s *store.Store) {
	t.Helper()
	got, err := s.Read(t.Context(), "shared")
	if err != nil {
		t.Fatal(err)
	}
	var i int
	v := string(got.Value.Reveal())
	if _, err := fmt.Sscanf(v, "%d:", &i); err != nil || v != rotated(i) {
		t.Fatalf("version %s is torn", got.Version)
	}
}

// Two processes write while this one reads: every version is used once, and
// every read is whole.
func TestProcessesAtOnce(t *testing.T) {
	t.Parallel()
	const writers, rounds = 2, 25
	dir := t.TempDir()
	s := store.New(dir)
	put(t, s, "shared", rotated(0))
	type result struct {
		out []byte
		err error
	}
	results := make(chan result, writers)
	for range writers {
		cmd := writer(t, dir, rounds)
		go func() {
			out, err := cmd.Output()
			results <- result{out, err}
		}()
	}
	seen := map[string]bool{"1": true}
	for done := 0; done < writers; {
		select {
		case r := <-results:
			done++
			must(t, r.err)
			for _, v := range strings.Fields(string(r.out)) {
				if seen[v] {
					t.Errorf("version %s was given twice", v)
				}
				seen[v] = true
			}
		default:
			requireWhole(t, s)
		}
	}
	if want := writers*rounds + 1; len(seen) != want {
		t.Errorf("%d versions, want %d", len(seen), want)
	}
	list, err := s.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Version != fmt.Sprint(len(seen)) {
		t.Errorf("List = %+v, %v", list, err)
	}
}

// A writer that is killed at any moment leaves a readable store, and no lock.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := store.New(dir)
	put(t, s, "shared", rotated(0))
	for i := range 15 {
		cmd := writer(t, dir, 1<<30)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		// Its first version is out: it is at work. The pause then spreads the
		// moment of death over a change.
		_, err = out.Read(make([]byte, 16))
		must(t, err)
		time.Sleep(time.Duration(i) * 300 * time.Microsecond)
		must(t, cmd.Process.Kill())
		cmd.Wait()
		requireWhole(t, s)
		put(t, s, "shared", rotated(i))
		requireWhole(t, s)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "secrets/shared/*")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A lock that never comes ends with the caller's deadline.
func TestLockHasADeadline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := store.New(dir)
	put(t, s, "a", "v")
	release := hold(t, filepath.Join(dir, "secrets"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Read(ctx, "a"); !errors.Is(err, secret.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	release()
	if got := value(t, s, "a"); got != "v" {
		t.Errorf("got %q after the lock was released", got)
	}
}

// hold takes the exclusive lock on a directory as another process would.
func hold(t *testing.T, path string) (release func()) {
	t.Helper()
	dir, err := os.Open(path)
	must(t, err)
	must(t, syscall.Flock(int(dir.Fd()), syscall.LOCK_EX))
	return func() { must(t, dir.Close()) }
}
