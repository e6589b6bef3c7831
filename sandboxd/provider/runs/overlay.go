package runs

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// overlay is a root file system: read-only layers, the topmost first, and the
// directory that takes what is written.
type overlay struct {
	layers []lower
	// dir is a mount that holds the directories upper and work.
	dir *os.File
	ids *ids
}

// lower is a mount, and where below it the layer is.
type lower struct {
	mount *os.File
	below string
}

// close closes the mounts that the overlay was made of.
func (o overlay) close() error {
	var errs []error
	for _, l := range o.layers {
		errs = append(errs, l.mount.Close())
	}
	if o.dir != nil {
		errs = append(errs, o.dir.Close())
	}
	return errors.Join(errs...)
}

// mount returns the overlay as a detached mount.
//
// Its layers are named by descriptor: they may be mounts that have no path,
// and what the sandbox reads in its mountinfo then says nothing of the host.
// An overlay acts with the credentials of the thread that created it, and in
// mapped layers only the sandbox's ids exist, so that thread becomes the
// sandbox's root; else every write would fail with EOVERFLOW.
func (o overlay) mount() (*os.File, error) {
	var f *os.File
	err := onThread(func() error {
		if err := becomeOwner(o.ids.root); err != nil {
			return err
		}
		var err error
		f, err = o.create()
		return err
	})
	return f, err
}

func (o overlay) create() (*os.File, error) {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open overlay: %w", err)
	}
	defer func() { _ = unix.Close(fs) }()
	lower := make([]string, len(o.layers))
	for i, l := range o.layers {
		lower[i] = descriptorPath(l.mount) + l.below
	}
	dir := descriptorPath(o.dir)
	for _, option := range [][2]string{
		{"lowerdir", strings.Join(lower, ":")}, {"upperdir", dir + "/" + upperDir}, {"workdir", dir + "/" + workDir},
	} {
		if err := unix.FsconfigSetString(fs, option[0], option[1]); err != nil {
			return nil, fmt.Errorf("set overlay %s: %w", option[0], reason(fs, err))
		}
	}
	if !o.ids.mounts {
		if err := unix.FsconfigSetFlag(fs, "userxattr"); err != nil {
			return nil, fmt.Errorf("set overlay userxattr: %w", reason(fs, err))
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, fmt.Errorf("create overlay: %w", reason(fs, err))
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOSUID)
	if err != nil {
		return nil, fmt.Errorf("mount overlay: %w", err)
	}
	return os.NewFile(uintptr(fd), "overlay"), nil
}

// reason adds what the kernel says about a mount that it refused.
func reason(fs int, err error) error {
	b := make([]byte, 512)
	n, rerr := unix.Read(fs, b)
	if rerr != nil || n <= 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(b[:n])))
}

func descriptorPath(f *os.File) string { return fmt.Sprintf("/proc/thread-self/fd/%d", f.Fd()) }

// becomeOwner makes the calling thread create files as id. The thread keeps the
// capabilities that the change takes away.
func becomeOwner(id int) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("get capabilities: %w", err)
	}
	for _, call := range []uintptr{unix.SYS_SETFSGID, unix.SYS_SETFSUID} {
		// These report no error but the former id: ask again to see.
		if _, _, e := unix.RawSyscall(call, uintptr(id), 0, 0); e != 0 {
			return fmt.Errorf("set file-system id: %w", e)
		}
		if now, _, _ := unix.RawSyscall(call, ^uintptr(0), 0, 0); int(now) != id {
			return errors.New("set file-system id: not permitted")
		}
	}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("set capabilities: %w", err)
	}
	return nil
}
