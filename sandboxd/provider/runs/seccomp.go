package runs

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// What a refused system call answers. Where programs have a second way for old
// kernels, "not implemented" makes them take it.
const (
	notPermitted   = seccomp.ActionErrno | seccomp.Action(unix.EPERM)
	notImplemented = seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)
	noFamily       = seccomp.ActionErrno | seccomp.Action(unix.EAFNOSUPPORT)
)

// newNamespaces are the flags of clone(2) that make a namespace.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// setIDBits are the mode bits that make a program run as its owner or group.
const setIDBits = unix.S_ISUID | unix.S_ISGID

// forbidden are calls that reach what no namespace divides, that make
// namespaces or mounts, or whose history of kernel faults outweighs their use.
var forbidden = []string{
	"acct", "bpf", "delete_module", "fanotify_init", "finit_module", "init_module", "iopl", "ioperm",
	"kcmp", "kexec_file_load", "kexec_load", "add_key", "keyctl", "request_key", "lookup_dcookie",
	"mount", "mount_setattr", "move_mount", "open_tree", "open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick",
	"umount2", "pivot_root", "listmount", "statmount", "modify_ldt", "name_to_handle_at", "open_by_handle_at",
	"nfsservctl", "perf_event_open", "quotactl", "quotactl_fd", "reboot", "setns", "unshare",
	"settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname",
	"swapon", "swapoff", "syslog", "userfaultfd", "uselib", "_sysctl", "vhangup", "memfd_secret",
}

// missing are calls that carry their arguments in memory, where a filter can't
// see them, or that programs do without.
var missing = []string{"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"}

// families are the socket families that a sandbox may use. AF_VSOCK above all
// isn't among them: no network namespace confines it.
var families = []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// filterProgram returns the seccomp filter of a sandbox as the kernel takes it.
// One whose workspace is a directory of the host can't mark files there as
// set-user-ID, which would count outside too.
func filterProgram(hostWorkspace bool) ([]byte, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	policy := seccomp.Policy{
		DefaultAction: seccomp.ActionAllow,
		Syscalls: []seccomp.SyscallGroup{
			{Names: known(info, forbidden), Action: notPermitted},
			{Names: known(info, missing), Action: notImplemented},
			{NamesWithCondtions: socketConditions(), Action: noFamily},
			{NamesWithCondtions: conditions(info, argument{"clone", has(0, newNamespaces)}), Action: notPermitted},
			{NamesWithCondtions: terminalConditions(), Action: notPermitted},
		},
	}
	if hostWorkspace {
		policy.Syscalls = append(policy.Syscalls,
			seccomp.SyscallGroup{Names: known(info, []string{"openat2"}), Action: notImplemented},
			seccomp.SyscallGroup{NamesWithCondtions: setIDConditions(info), Action: notPermitted})
	}
	program, err := policy.Assemble()
	if err != nil {
		return nil, fmt.Errorf("assemble seccomp filter: %w", err)
	}
	raw, err := bpf.Assemble(append(guard(info), program...))
	if err != nil {
		return nil, fmt.Errorf("assemble seccomp filter: %w", err)
	}
	var b []byte
	for _, i := range raw {
		b = binary.NativeEndian.AppendUint16(b, i.Op)
		b = append(b, i.Jt, i.Jf)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	return b, nil
}

// guard comes before the program of the library, which (v1.6.0) allows every
// call of a foreign architecture when its default is to allow: on x86-64 any
// process can make those of i386. It also refuses calls that are newer than
// the library's table, which nobody has thought about.
func guard(info *arch.Info) []bpf.Instruction {
	newest := slices.Max(slices.Collect(maps.Keys(info.SyscallNumbers)))
	const number, architecture = 0, 4 // offsets in struct seccomp_data
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: architecture, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(notImplemented)},
		bpf.LoadAbsolute{Off: number, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: uint32(newest), SkipFalse: 1},
		bpf.RetConstant{Val: uint32(notImplemented)},
	}
}

// argument is a call and what must all hold for it to be refused.
type argument struct {
	name string
	all  seccomp.ArgumentConditions
}

// has holds when the n-th argument has any of the bits.
func has(n uint32, bits uint64) seccomp.ArgumentConditions {
	return seccomp.ArgumentConditions{{Argument: n, Operation: seccomp.BitsSet, Value: bits}}
}

func conditions(info *arch.Info, args ...argument) []seccomp.NameWithConditions {
	var all []seccomp.NameWithConditions
	for _, a := range args {
		if _, ok := info.SyscallNames[a.name]; ok {
			all = append(all, seccomp.NameWithConditions{Name: a.name, Conditions: a.all})
		}
	}
	return all
}

// socketConditions hold for every family but those allowed, and for netlink
// other than routing. The library compares 64 bits where the kernel looks at
// 32; a list of what is allowed is safe from that, one of what isn't isn't.
func socketConditions() []seccomp.NameWithConditions {
	var other seccomp.ArgumentConditions
	for _, f := range families {
		other = append(other, seccomp.Condition{Argument: 0, Operation: seccomp.NotEqual, Value: f})
	}
	netlink := seccomp.ArgumentConditions{
		{Argument: 0, Operation: seccomp.Equal, Value: unix.AF_NETLINK},
		{Argument: 2, Operation: seccomp.NotEqual, Value: unix.NETLINK_ROUTE},
	}
	return []seccomp.NameWithConditions{
		{Name: "socket", Conditions: other}, {Name: "socket", Conditions: netlink},
		{Name: "socketpair", Conditions: other},
	}
}

// terminalConditions hold for the requests that type into a terminal, however
// the 32 bits of the request were extended to 64.
func terminalConditions() []seccomp.NameWithConditions {
	const negative = ^uint64(1<<32 - 1)
	all := []seccomp.NameWithConditions{{Name: "ioctl", Conditions: seccomp.ArgumentConditions{
		{Argument: 1, Operation: seccomp.GreaterThan, Value: 1<<32 - 1},
		{Argument: 1, Operation: seccomp.LessThan, Value: negative},
	}}}
	for _, request := range []uint64{unix.TIOCSTI, unix.TIOCLINUX} {
		for _, v := range []uint64{request, request | negative} {
			all = append(all, seccomp.NameWithConditions{Name: "ioctl", Conditions: seccomp.ArgumentConditions{
				{Argument: 1, Operation: seccomp.Equal, Value: v},
			}})
		}
	}
	return all
}

// setIDConditions hold for what would create a set-user-ID file.
func setIDConditions(info *arch.Info) []seccomp.NameWithConditions {
	// A file without a name can be given one later.
	const creating = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	creates := func(flags, mode uint32) seccomp.ArgumentConditions {
		return append(has(flags, creating), has(mode, setIDBits)...)
	}
	return conditions(info,
		argument{"chmod", has(1, setIDBits)}, argument{"fchmod", has(1, setIDBits)},
		argument{"fchmodat", has(2, setIDBits)}, argument{"fchmodat2", has(2, setIDBits)},
		argument{"creat", has(1, setIDBits)}, argument{"open", creates(1, 2)}, argument{"openat", creates(2, 3)},
		argument{"mknod", has(1, setIDBits)}, argument{"mknodat", has(2, setIDBits)},
	)
}

func known(info *arch.Info, names []string) []string {
	var all []string
	for _, n := range names {
		if _, ok := info.SyscallNames[n]; ok {
			all = append(all, n)
		}
	}
	return all
}
