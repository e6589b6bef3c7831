package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// runDir is the directory of one run: the edge's configuration and its control
// socket. This process holds a lock on it, which the kernel drops with the
// process, so that what a killed run left behind can be told from a living one.
type runDir struct {
	id   string // also of the sandbox and its boundary
	path string
	lock *os.File
}

// runBase is the directory that holds all runs of a user and their sandboxes.
// It is on a disk rather than below /run, because a sandbox may write a lot.
func runBase() (string, error) {
	base := filepath.Join(cmp.Or(os.Getenv("TMPDIR"), "/var/tmp"), "sallyport-"+outerUID())
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", fmt.Errorf("make directory of runs: %w", err)
	}
	// Everybody may write to its parent: make sure that we made it.
	st, err := os.Lstat(base)
	if err != nil {
		return "", fmt.Errorf("make directory of runs: %w", err)
	}
	if owner := st.Sys().(*syscall.Stat_t).Uid; !st.IsDir() || st.Mode().Perm() != 0o700 || int(owner) != os.Geteuid() {
		return "", fmt.Errorf("%s: expected a directory of mode 0700 that belongs to you: remove it, or set TMPDIR", base)
	}
	return base, nil
}

// outerUID returns the caller's uid as the machine knows it, also from inside
// a user namespace.
func outerUID() string {
	uid := os.Geteuid()
	data, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return strconv.Itoa(uid)
	}
	for line := range strings.Lines(string(data)) {
		var inside, outside, size int
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err == nil && uid >= inside && uid < inside+size {
			return strconv.Itoa(outside + uid - inside)
		}
	}
	return strconv.Itoa(uid)
}

// makeRunDir makes the directory of a new run below base, after it has removed
// those of dead ones.
func makeRunDir(base string) (*runDir, error) {
	all := filepath.Join(base, "runs")
	if err := os.MkdirAll(all, 0o700); err != nil {
		return nil, fmt.Errorf("make directory of run: %w", err)
	}
	// Between its making and its locking a directory looks left behind.
	whole, err := lockDir(all, unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer whole.Close()
	if err := reapRunDirs(all); err != nil {
		return nil, err
	}
	id := "run-" + strings.ToLower(rand.Text()[:12])
	d := &runDir{id: id, path: filepath.Join(all, id)}
	if err := os.Mkdir(d.path, 0o700); err != nil {
		return nil, fmt.Errorf("make directory of run: %w", err)
	}
	if d.lock, err = lockDir(d.path, unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, os.Remove(d.path))
	}
	return d, nil
}

// reapRunDirs removes the directories in all whose process is gone.
func reapRunDirs(all string) error {
	entries, err := os.ReadDir(all)
	if err != nil {
		return fmt.Errorf("look for dead runs: %w", err)
	}
	var errs []error
	for _, e := range entries {
		path := filepath.Join(all, e.Name())
		lock, err := lockDir(path, unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) {
			continue // it lives, or has just ended
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, os.RemoveAll(path), lock.Close())
	}
	return errors.Join(errs...)
}

// remove removes the directory; the lock goes last.
func (d *runDir) remove(context.Context) error {
	return errors.Join(os.RemoveAll(d.path), d.lock.Close())
}

// lockDir opens and locks a directory. Closing the file unlocks it.
func lockDir(path string, how int) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
	}
}

// makeProvider returns the provider of the sandboxes below base, after it has
// removed those of dead runs.
func makeProvider(ctx context.Context, base string) (*runs.Provider, error) {
	state := filepath.Join(base, "provider")
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, fmt.Errorf("make directory of sandboxes: %w", err)
	}
	provider, err := runs.New(runs.Config{StateDir: state})
	if err != nil {
		return nil, err
	}
	if err := provider.Reap(ctx); err != nil {
		return nil, fmt.Errorf("remove what a dead run left: %w", err)
	}
	return provider, nil
}
