package runs

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// attachLoop makes a block device of a file. The device goes with the last
// descriptor or mount of it, so that no crash leaves one behind.
func attachLoop(file *os.File, readOnly bool) (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("attach loop device: %w", err)
	}
	defer func() { _ = control.Close() }()
	const attempts = 100 // others take free devices between the two calls too
	for range attempts {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("attach loop device: %w", err)
		}
		device, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("attach loop device: %w", err)
		}
		config := unix.LoopConfig{Fd: uint32(file.Fd())} //nolint:gosec // a descriptor
		config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
		if readOnly {
			config.Info.Flags |= unix.LO_FLAGS_READ_ONLY
		}
		err = unix.IoctlLoopConfigure(int(device.Fd()), &config)
		if err == nil {
			return device, nil
		}
		_ = device.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("attach loop device: %w", err)
		}
	}
	return nil, errors.New("attach loop device: none stays free")
}

// mountDevice returns a detached mount of the ext4 file system on a device. It
// has no path, so nobody else can see it; several mounts are of one file
// system.
func mountDevice(device *os.File, o mountOptions) (*os.File, error) {
	fs, err := unix.Fsopen("ext4", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open ext4: %w", err)
	}
	defer func() { _ = unix.Close(fs) }()
	if err := unix.FsconfigSetString(fs, "source", device.Name()); err != nil {
		return nil, fmt.Errorf("set ext4 source: %w", reason(fs, err))
	}
	// Blocks that are freed go back to the host's disk, and tables of inodes
	// that nobody uses aren't written to it.
	flags := []string{"discard", "noinit_itable"}
	if o.readOnly {
		flags = []string{"ro"}
	}
	for _, flag := range flags {
		if err := unix.FsconfigSetFlag(fs, flag); err != nil {
			return nil, fmt.Errorf("set ext4 %s: %w", flag, reason(fs, err))
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, fmt.Errorf("mount disk: %w", reason(fs, err))
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOATIME)
	if err != nil {
		return nil, fmt.Errorf("mount disk: %w", err)
	}
	f := os.NewFile(uintptr(fd), "disk")
	if err := setMount(f, o); err != nil {
		return nil, errors.Join(fmt.Errorf("mount disk: %w", err), f.Close())
	}
	return f, nil
}

// makeReadOnly turns the whole file system of a mount read-only, so that its
// device is complete and stays as it is, whoever else still has it mounted.
func makeReadOnly(mount *os.File) error {
	fs, err := unix.Fspick(int(mount.Fd()), "", unix.FSPICK_CLOEXEC|unix.FSPICK_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("make disk read-only: %w", err)
	}
	defer func() { _ = unix.Close(fs) }()
	if err := unix.FsconfigSetFlag(fs, "ro"); err != nil {
		return fmt.Errorf("make disk read-only: %w", reason(fs, err))
	}
	if err := unix.FsconfigReconfigure(fs); err != nil {
		return fmt.Errorf("make disk read-only: %w", reason(fs, err))
	}
	return nil
}
