package runs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

// Layout of the state directory.
const (
	sandboxesDir = "sandboxes" // a directory a sandbox, named by its id
	imagesDir    = "images"    // unpacked images
	lockFile     = "lock"
	upperDir     = "upper" // what a sandbox wrote
	workDir      = "work"  // the overlay's own
	diskFile     = "disk"  // a file that holds the two, where they are bounded
)

// validID keeps ids fit for a file name, a cgroup name and a host name.
var validID = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// cgroupName returns the name of a sandbox's cgroup. Ids are unique only within
// a state directory, so the name says which one it is.
func (p *Provider) cgroupName(id string) string {
	dir, err := realPath(p.config.StateDir)
	if err != nil {
		dir = p.config.StateDir // it is about to be made
	}
	sum := sha256.Sum256([]byte(dir))
	return id + "." + hex.EncodeToString(sum[:4])
}

// sandboxDir is a sandbox's directory. Its owner holds a lock on a file in it,
// which the kernel drops with the owner: what isn't locked is left over.
type sandboxDir struct {
	path string
	lock *os.File
	disk *disk // what it writes to; nil: the directory itself
}

// claim makes the directory of a sandbox.
func (p *Provider) claim(id string) (*sandboxDir, error) {
	base := filepath.Join(p.config.StateDir, sandboxesDir)
	if err := os.MkdirAll(base, 0o700); err != nil {
		return nil, err
	}
	// Between its making and its locking a directory looks left over.
	release, err := lockWhole(filepath.Join(p.config.StateDir, lockFile))
	if err != nil {
		return nil, err
	}
	defer release()
	d := &sandboxDir{path: filepath.Join(base, id)}
	if err := os.Mkdir(d.path, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("sandbox %s exists already", id)
		}
		return nil, err
	}
	if d.lock, err = tryLock(filepath.Join(d.path, lockFile)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(d.path))
	}
	return d, nil
}

// makeUpper makes, below base, the directories that take what is written.
func makeUpper(base string, owner int) error {
	for _, name := range []string{upperDir, workDir} {
		path := filepath.Join(base, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		// Whatever the umask was: the root of a sandbox is for all in it.
		if err := os.Chmod(path, 0o755); err != nil {
			return err
		}
		if err := os.Lchown(path, owner, owner); err != nil {
			return err
		}
	}
	return nil
}

// provide makes what the sandbox writes to: its directory, or a disk in it.
func (p *Provider) provide(d *sandboxDir, diskBytes int64, owner int) error {
	if diskBytes == 0 {
		return makeUpper(d.path, owner)
	}
	var err error
	if d.disk, err = p.newDisk(filepath.Join(d.path, diskFile), diskBytes); err != nil {
		return err
	}
	return makeUpper(d.disk.path(), owner)
}

// retire removes the directory of a sandbox that has ended. What may be large
// goes while others start; the lock goes together with the directory, so that
// [Provider.Reap] never finds one without the other.
func (d *sandboxDir) retire() error {
	if err := d.disk.close(); err != nil {
		return err
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == lockFile {
			continue
		}
		if err := os.RemoveAll(filepath.Join(d.path, e.Name())); err != nil {
			return err
		}
	}
	release, err := lockWhole(filepath.Join(filepath.Dir(filepath.Dir(d.path)), lockFile))
	if err != nil {
		return err
	}
	defer release()
	return d.remove()
}

// remove removes the directory and gives up its lock, for a caller that holds
// the lock on the whole.
func (d *sandboxDir) remove() error {
	return errors.Join(os.RemoveAll(d.path), d.lock.Close())
}

// Reap removes the sandboxes in StateDir whose owner is dead. Their processes
// died with the owner, unless the owner died while it was starting them.
func (p *Provider) Reap(ctx context.Context) error {
	if err := p.reapPartial(); err != nil {
		return err
	}
	base := filepath.Join(p.config.StateDir, sandboxesDir)
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	h, err := findHierarchies()
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if err := p.reapOne(ctx, h, e.Name()); err != nil {
			errs = append(errs, fmt.Errorf("reap %s: %w", e.Name(), err))
		}
	}
	return errors.Join(errs...)
}

func (p *Provider) reapOne(ctx context.Context, h hierarchies, id string) error {
	release, err := lockWhole(filepath.Join(p.config.StateDir, lockFile))
	if err != nil {
		return err
	}
	defer release()
	d := &sandboxDir{path: filepath.Join(p.config.StateDir, sandboxesDir, id)}
	if _, err := os.Lstat(d.path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	d.lock, err = tryLock(filepath.Join(d.path, lockFile))
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil // its owner lives
	}
	if err != nil {
		return err
	}
	return errors.Join(h.removeCgroup(ctx, p.cgroupName(id)), d.remove())
}

// tryLock creates and locks a file, or fails with EWOULDBLOCK.
func tryLock(path string) (*os.File, error) {
	return lock(path, unix.LOCK_EX|unix.LOCK_NB)
}

// lockWhole waits for the lock on path and returns how to let go of it.
func lockWhole(path string) (release func(), err error) {
	f, err := lock(path, unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

func lock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
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
