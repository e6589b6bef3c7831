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
		if unix.Gettid() == unix.Getpid() {
			// All but the main thread, which Go (1.26) would keep as it is, and
			// which is what /proc/self shows. Hold it while another does it.
			defer runtime.UnlockOSThread()
			done <- onThread(f)
			return
		}
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
