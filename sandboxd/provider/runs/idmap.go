package runs

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// mountOptions say how a clone of a mount differs from the original.
type mountOptions struct {
	readOnly bool
	devices  bool     // device nodes work
	mapped   *os.File // user namespace through which its owners are seen; nil means as they are
}

// cloneMount returns a detached mount of what is at path: nobody else can see
// it, and it ends with the descriptor unless it is attached somewhere.
func cloneMount(path string, o mountOptions) (*os.File, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("clone mount of %s: %w", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	if err := setMount(f, o); err != nil {
		return nil, errors.Join(fmt.Errorf("set options of the mount of %s: %w", path, err), f.Close())
	}
	return f, nil
}

// setMount sets the options of a detached mount.
func setMount(f *os.File, o mountOptions) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if !o.devices {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if o.readOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if o.mapped != nil {
		attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
		attr.Userns_fd = uint64(o.mapped.Fd())
	}
	err := unix.MountSetattr(int(f.Fd()), "", unix.AT_EMPTY_PATH, &attr)
	if o.mapped != nil && errors.Is(err, unix.EINVAL) {
		return errors.New("its file system has no id-mapped mounts (ext4, xfs and btrfs have)")
	}
	return err
}

// userNamespaceOf opens the user namespace of a process.
func userNamespaceOf(pid int) (*os.File, error) {
	return os.Open(fmt.Sprintf("/proc/%d/ns/user", pid))
}

// mapOwner returns a user namespace for a mount in which the files of owner are
// those of the sandbox's user, both ways. Everybody else, root included, has no
// counterpart: nobody in the sandbox can create a file for them.
func mapOwner(program *os.File, owner, group, user int) (ns *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close(), w.Close()) }()
	c := command(program)
	c.Args = append(c.Args, "hold")
	c.Stdin = r
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: owner, HostID: user, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: group, HostID: user, Size: 1}},
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("make user namespace: %w", err)
	}
	ns, err = userNamespaceOf(c.Process.Pid)
	_ = c.Process.Kill()
	_ = c.Wait()
	return ns, err
}
