package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sallyport/sallyport/inject/secret"
)

const (
	shared    = syscall.LOCK_SH
	exclusive = syscall.LOCK_EX

	// lockTimeout bounds the wait for a lock; it is held for milliseconds.
	lockTimeout = 10 * time.Second
	lockPause   = 2 * time.Millisecond

	// tmpPrefix starts the name of a file that isn't whole yet.
	tmpPrefix = ".tmp-"
)

// lock takes the store's lock until unlock is called. Locks are flock(2) on
// the directory itself: the kernel drops them with their process. Without a
// directory it is ErrNotFound.
func (s *Store) lock(ctx context.Context, how int) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	dir, err := os.Open(s.dir)
	if err != nil {
		return nil, classify(err)
	}
	for {
		// Polled: flock(2) can't be given a deadline.
		if err = ctx.Err(); err == nil {
			err = syscall.Flock(int(dir.Fd()), how|syscall.LOCK_NB)
		}
		switch {
		case err == nil:
			return func() { dir.Close() }, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			dir.Close()
			return nil, fmt.Errorf("lock %s: %w: %w", s.dir, secret.ErrUnavailable, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(lockPause):
		}
	}
}

// makeDir makes a directory for its owner alone, durably, and its parents.
func (s *Store) makeDir(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(s.state, 0o700); err != nil {
		return classify(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return classify(err)
	}
	dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return classify(err)
	}
	if err := errors.Join(s.own(dir), dir.Close()); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// writeDurably writes a file of mode 0600 whole or not at all, also when the
// machine stops. The exclusive lock must be held.
func (s *Store) writeDurably(path string, content []byte) error {
	// CreateTemp's mode is 0600.
	f, err := os.CreateTemp(filepath.Dir(path), tmpPrefix+"*")
	if err != nil {
		return classify(err)
	}
	_, err = f.Write(content)
	err = errors.Join(err, s.own(f), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(classify(err), os.Remove(f.Name()))
	}
	return syncDir(filepath.Dir(path))
}

// own gives a new file the owner of the state directory, so that root's CLI
// can fill the store of an edge that runs as another user. It goes by
// descriptor: that user may put a link to a file of root's at any path.
func (s *Store) own(f *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(s.state)
	if err != nil {
		return classify(err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		if err := f.Chown(int(stat.Uid), int(stat.Gid)); err != nil {
			return classify(err)
		}
	}
	return nil
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return classify(err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", path, classify(err))
	}
	return nil
}
