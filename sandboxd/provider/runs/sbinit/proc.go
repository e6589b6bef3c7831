package main

import (
	"golang.org/x/sys/unix"
)

// hidden are the parts of /proc that tell of the machine, not of the sandbox.
var hidden = []string{
	"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kallsyms", "/proc/kcore", "/proc/key-users",
	"/proc/keys", "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
}

// readOnly are the parts of /proc that root of a machine may write to.
var readOnly = []string{
	"/proc/bus", "/proc/driver", "/proc/fs", "/proc/irq", "/proc/mtrr", "/proc/sys", "/proc/sysrq-trigger",
}

const bare = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC

func mountProc() error {
	if err := mountPoint("/proc"); err != nil {
		return failed("make /proc", err)
	}
	// EPERM here means that parts of the host's own /proc are covered.
	if err := unix.Mount("proc", "/proc", "proc", bare, ""); err != nil {
		return failed("mount /proc", err)
	}
	return nil
}

func maskProc() error {
	for _, p := range hidden {
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err == unix.ENOENT {
			continue
		}
		var err error
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			err = unix.Mount("tmpfs", p, "tmpfs", bare|unix.MS_RDONLY, "size=0")
		} else {
			err = unix.Mount("/dev/null", p, "", unix.MS_BIND, "")
		}
		if err != nil {
			return failed("hide "+p, err)
		}
	}
	for _, p := range readOnly {
		err := unix.Mount(p, p, "", unix.MS_BIND|unix.MS_REC, "")
		if err == unix.ENOENT {
			continue
		}
		if err == nil {
			err = unix.MountSetattr(unix.AT_FDCWD, p, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		}
		if err != nil {
			return failed("make "+p+" read-only", err)
		}
	}
	return nil
}
