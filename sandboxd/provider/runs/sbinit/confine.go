package main

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

// confine gives up, for good, what the sandbox must not have. What it does to
// the main thread is what commands inherit; the filter and the capabilities
// concern all threads.
func confine(s *wire.Setup) error {
	// Seen from inside, the sandbox's own cgroup is the root of all.
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return failed("unshare cgroup namespace", err)
	}
	// One byte fits no dump, and is the one limit at which the kernel doesn't
	// start the host's dump handler either.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}); err != nil {
		return failed("limit core dumps", err)
	}
	// Root of the sandbox is as mighty as this process, but for this: nobody
	// may trace it or look into its descriptors.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return failed("forbid tracing", err)
	}
	if err := dropCapabilities(s.Capabilities); err != nil {
		return err
	}
	// The filter takes this along to all threads.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return failed("set no_new_privs", err)
	}
	return filter(s.Filter)
}

func dropCapabilities(keep uint64) error {
	for c := uintptr(0); c < 64; c++ {
		if keep&(1<<c) != 0 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err == unix.EINVAL {
			break // the kernel knows no more capabilities
		}
		if err != nil {
			return failed("drop a capability", err)
		}
	}
	// With nothing inheritable the ambient ones go too.
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{
		{Effective: uint32(keep), Permitted: uint32(keep)},
		{Effective: uint32(keep >> 32), Permitted: uint32(keep >> 32)},
	}
	_, _, e := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
	if e != 0 {
		return failed("set capabilities", e)
	}
	return nil
}

// filter installs the seccomp program in all threads.
func filter(program []byte) error {
	const size = int(unsafe.Sizeof(unix.SockFilter{}))
	if len(program) == 0 || len(program)%size != 0 {
		return failed("install seccomp filter", wire.ErrMalformed)
	}
	instructions := make([]unix.SockFilter, len(program)/size)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&instructions[0])), len(program)), program)
	p := unix.SockFprog{Len: uint16(len(instructions)), Filter: &instructions[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&p)))
	if e != 0 {
		return failed("install seccomp filter", e)
	}
	return nil
}
