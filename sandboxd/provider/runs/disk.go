package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// disksDir is where in the state directory the empty disks are, one a size.
const disksDir = "disks"

// MinDisk is the smallest Spec.DiskBytes.
const MinDisk = 16 << 20

// journaledDisk is the smallest disk that has room for a journal.
const journaledDisk = 256 << 20

// disk is what a sandbox writes to when that is bounded: a file with a file
// system in it, of which only the blocks in use take space.
type disk struct {
	device *os.File
	root   *os.File // a mount of it, as it is on disk
}

// newDisk makes an empty disk at path.
func (p *Provider) newDisk(path string, bytes int64) (*disk, error) {
	if bytes < MinDisk {
		return nil, fmt.Errorf("make disk: %d bytes are less than %d", bytes, MinDisk)
	}
	bytes -= bytes % 4096
	empty, err := p.emptyDisk(bytes)
	if err != nil {
		return nil, fmt.Errorf("make disk: %w", err)
	}
	if err := copySparse(path, empty); err != nil {
		return nil, fmt.Errorf("make disk: %w", err)
	}
	return openDisk(path, false)
}

// openDisk attaches and mounts the disk at path.
func openDisk(path string, readOnly bool) (*disk, error) {
	how := os.O_RDWR
	if readOnly {
		how = os.O_RDONLY
	}
	f, err := os.OpenFile(path, how, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	d := &disk{}
	if d.device, err = attachLoop(f, readOnly); err != nil {
		return nil, err
	}
	if d.root, err = mountDevice(d.device, mountOptions{readOnly: readOnly}); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// close lets go of the disk. It is unmounted, and its device detached, once
// the last mount of it is gone.
func (d *disk) close() error {
	if d == nil {
		return nil
	}
	var errs []error
	for _, f := range []*os.File{d.root, d.device} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	d.root, d.device = nil, nil
	return errors.Join(errs...)
}

// mount returns one more mount of the disk.
func (d *disk) mount(o mountOptions) (*os.File, error) { return mountDevice(d.device, o) }

// path is where this process, and nobody else, finds the disk's files.
func (d *disk) path() string { return fmt.Sprintf("/proc/self/fd/%d", d.root.Fd()) }

// finish makes the disk read-only. Files that a sandbox had open when it was
// killed go a moment after it did.
func (d *disk) finish(ctx context.Context) error {
	for {
		err := makeReadOnly(d.root)
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
		if pause(ctx, time.Millisecond) != nil {
			return err
		}
	}
}

// emptyDisk returns the path of an empty disk of a size. It is made the first
// time: copying one takes a fraction of making it.
func (p *Provider) emptyDisk(bytes int64) (string, error) {
	dir := filepath.Join(p.config.StateDir, disksDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("%d.ext4", bytes))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	release, err := lockWhole(filepath.Join(dir, lockFile))
	if err != nil {
		return "", err
	}
	defer release()
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	partial := filepath.Join(dir, "partial")
	if err := format(partial, bytes); err != nil {
		return "", errors.Join(err, os.RemoveAll(partial))
	}
	return path, os.Rename(partial, path)
}

// format makes a file with an empty file system.
func format(path string, bytes int64) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(bytes), f.Close()); err != nil {
		return err
	}
	journal := []string{"-J", "size=16"}
	if bytes < journaledDisk {
		journal = []string{"-O", "^has_journal"}
	}
	args := append(journal, "-q", "-F", "-m", "0", "-b", "4096", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=0:0", path)
	program, err := findMkfs()
	if err != nil {
		return err
	}
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("format disk: %w: %s", err, out)
	}
	return nil
}

func findMkfs() (string, error) {
	if path, err := exec.LookPath("mkfs.ext4"); err == nil {
		return path, nil
	}
	for _, path := range []string{"/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4"} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", errors.New("format disk: there is no mkfs.ext4: install e2fsprogs")
}

// copySparse copies a file to a new one, without its holes.
func copySparse(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := out.Truncate(st.Size()); err != nil {
		return err
	}
	for at := int64(0); ; {
		begin, err := in.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil
		}
		if err != nil {
			return err
		}
		if at, err = in.Seek(begin, unix.SEEK_HOLE); err != nil {
			return err
		}
		if _, err := in.Seek(begin, io.SeekStart); err != nil {
			return err
		}
		if _, err := out.Seek(begin, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.CopyN(out, in, at-begin); err != nil {
			return err
		}
	}
}
