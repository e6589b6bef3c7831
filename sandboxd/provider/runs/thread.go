package runs

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// onThread runs f on an operating-system thread of its own and ends that
// thread afterwards. What f changes about the thread (its network namespace,
// its file-system identity) therefore never gets back to the Go scheduler, not
// even when changing it back would have failed.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		done <- f()
	}()
	return <-done
}

// inNetwork runs f on a thread inside the network namespace.
func inNetwork(ns *os.File, f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace: %w", err)
		}
		return f()
	})
}
