package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/edge/config"
)

// confine gives up what an edge that serves has no use for: root, if it was
// started as such; capabilities; gaining privileges through a program that it
// runs; and being looked into, by a debugger or in a core file, by others of
// its user. There is no way back.
func confine(become *config.User, log *slog.Logger) error {
	if become != nil && os.Geteuid() == 0 {
		if err := dropTo(*become); err != nil {
			return fmt.Errorf("become user %d:%d: %w", become.UID, become.GID, err)
		}
	}
	if os.Geteuid() == 0 {
		log.Log(context.Background(), rootLevel(), "the edge runs as root, without capabilities: name another user in the configuration")
	}
	if err := everyThread(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); err != nil {
		return fmt.Errorf("forbid new privileges: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core files: %w", err)
	}
	// This comes last: changing the user sets it back to the system's default.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid inspection: %w", err)
	}
	return nil
}

// dropTo makes every thread of this process one of u, without further groups.
func dropTo(u config.User) error {
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("drop groups: %w", err)
	}
	if err := syscall.Setresgid(u.GID, u.GID, u.GID); err != nil {
		return fmt.Errorf("set group: %w", err)
	}
	if err := syscall.Setresuid(u.UID, u.UID, u.UID); err != nil {
		return fmt.Errorf("set user: %w", err)
	}
	if err := syscall.Setuid(0); err == nil {
		return errors.New("root can be regained")
	}
	return nil
}

// rootLevel says how loudly to complain about root: the root of a user
// namespace is an ordinary user.
func rootLevel() slog.Level {
	ids, err := os.ReadFile("/proc/self/uid_map")
	if fields := strings.Fields(string(ids)); err == nil && len(fields) == 3 && fields[1] != "0" {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// dropCapabilities gives up every capability, those that would be passed on to
// other programs included.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return everyThread(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
}

// everyThread makes a system call in every thread, for what is an attribute of
// each. A program that was built with cgo can't reach all of them; there it is
// made in this thread, from which others inherit: less than make build gives.
func everyThread(trap, a1, a2, a3 uintptr) error {
	_, _, errno := syscall.AllThreadsSyscall(trap, a1, a2, a3)
	if errno == syscall.ENOTSUP {
		_, _, errno = syscall.RawSyscall(trap, a1, a2, a3)
	}
	if errno != 0 {
		return errno
	}
	return nil
}
