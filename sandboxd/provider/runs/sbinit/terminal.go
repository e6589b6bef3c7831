package main

import (
	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

// openTerminal makes a terminal of the sandbox's own, owned by who will use it.
func openTerminal(x *wire.Exec) (master, slave int, err error) {
	master, err = unix.Open("/dev/pts/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, -1, err
	}
	slave, err = openSlave(master, x)
	if err != nil {
		_ = unix.Close(master)
		return -1, -1, err
	}
	return master, slave, nil
}

func openSlave(master int, x *wire.Exec) (int, error) {
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return -1, err
	}
	if err := unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &unix.Winsize{Row: x.Rows, Col: x.Cols}); err != nil {
		return -1, err
	}
	// By the master, not by a path: nothing can come between.
	fd, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if e != 0 {
		return -1, e
	}
	slave := int(fd)
	if err := unix.Fchown(slave, int(x.ID), -1); err != nil {
		_ = unix.Close(slave)
		return -1, err
	}
	return slave, nil
}
