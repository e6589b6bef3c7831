package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/edge/config"
)

// confine gives up what an edge that serves has no use for: root, if it was
// started as such; gaining privileges through a program that it runs; and being
// looked into, by a debugger or in a core file, by others of its user. There
// is no way back.
func confine(become *config.User, log *slog.Logger) error {
	if become != nil && os.Geteuid() == 0 {
		if err := dropTo(*become); err != nil {
			return fmt.Errorf("become user %d:%d: %w", become.UID, become.GID, err)
		}
	}
	if os.Geteuid() == 0 {
		log.Warn("the edge runs as root: name another user in the configuration")
	}
	if err := forbidNewPrivileges(); err != nil {
		return fmt.Errorf("forbid new privileges: %w", err)
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

// forbidNewPrivileges sets no_new_privs, an attribute of each thread. A program
// that was built with cgo can't reach all of them; there it is set for this
// thread and those that it starts, which is less than what make build gives.
func forbidNewPrivileges() error {
	_, _, errno := syscall.AllThreadsSyscall(syscall.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
	if errno == syscall.ENOTSUP {
		return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if errno != 0 {
		return errno
	}
	return nil
}
