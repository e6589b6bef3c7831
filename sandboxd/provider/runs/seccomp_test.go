package runs_test

import (
	"encoding/binary"
	"runtime"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// Audit architectures, linux/audit.h.
const (
	auditX86_64  = 0xc000003e
	auditI386    = 0x40000003
	auditAARCH64 = 0xc00000b7
)

// evaluate runs the filter on one system call.
func evaluate(t *testing.T, hostWorkspace bool, arch, number uint32, args ...uint64) uint32 {
	t.Helper()
	program, err := runs.FilterProgram(hostWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	var raw []bpf.RawInstruction
	for b := program; len(b) > 0; b = b[8:] {
		raw = append(raw, bpf.RawInstruction{Op: binary.NativeEndian.Uint16(b), Jt: b[2], Jf: b[3], K: binary.NativeEndian.Uint32(b[4:])})
	}
	instructions, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the program has unknown instructions")
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	// struct seccomp_data, its words in the byte order of the interpreter.
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[0:], number)
	binary.BigEndian.PutUint32(data[4:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(a>>32))
	}
	verdict, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(verdict)
}

func TestFilter(t *testing.T) {
	t.Parallel()
	native := map[string]uint32{"amd64": auditX86_64, "arm64": auditAARCH64}[runtime.GOARCH]
	const allow, errno = 0x7fff0000, 0x00050000
	cases := []struct {
		name         string
		workspace    bool
		arch, number uint32
		args         []uint64
		want         uint32
	}{
		{name: "getpid", arch: native, number: unix.SYS_GETPID, want: allow},
		{name: "getpid of i386", arch: auditI386, number: 20, want: errno | uint32(unix.ENOSYS)},
		{name: "socketcall of i386", arch: auditI386, number: 102, want: errno | uint32(unix.ENOSYS)},
		{name: "x32", arch: native, number: 0x40000000 | unix.SYS_GETPID, want: errno | uint32(unix.ENOSYS)},
		{name: "no such number", arch: native, number: 0xffffffff, want: errno | uint32(unix.ENOSYS)},
		{name: "tcp", arch: native, number: unix.SYS_SOCKET, args: []uint64{unix.AF_INET, unix.SOCK_STREAM}, want: allow},
		{name: "vsock", arch: native, number: unix.SYS_SOCKET, args: []uint64{unix.AF_VSOCK, unix.SOCK_STREAM}, want: errno | uint32(unix.EAFNOSUPPORT)},
		{name: "vsock with high bits", arch: native, number: unix.SYS_SOCKET, args: []uint64{7<<32 | unix.AF_VSOCK}, want: errno | uint32(unix.EAFNOSUPPORT)},
		{name: "routing", arch: native, number: unix.SYS_SOCKET, args: []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, want: allow},
		{name: "netfilter", arch: native, number: unix.SYS_SOCKET, args: []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, want: errno | uint32(unix.EAFNOSUPPORT)},
		{name: "fork", arch: native, number: unix.SYS_CLONE, args: []uint64{uint64(unix.SIGCHLD)}, want: allow},
		{name: "thread", arch: native, number: unix.SYS_CLONE, args: []uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, want: allow},
		{name: "user namespace", arch: native, number: unix.SYS_CLONE, args: []uint64{unix.CLONE_NEWUSER | unix.CLONE_VM}, want: errno | uint32(unix.EPERM)},
		{name: "chmod", arch: native, number: unix.SYS_FCHMODAT, args: []uint64{0, 0, 0o4755}, want: allow},
		{name: "chmod in a host's workspace", workspace: true, arch: native, number: unix.SYS_FCHMODAT, args: []uint64{0, 0, 0o755}, want: allow},
		{name: "set-user-ID there", workspace: true, arch: native, number: unix.SYS_FCHMODAT, args: []uint64{0, 0, 0o4755}, want: errno | uint32(unix.EPERM)},
		{name: "set-group-ID there", workspace: true, arch: native, number: unix.SYS_FCHMODAT, args: []uint64{0, 0, 0o2755}, want: errno | uint32(unix.EPERM)},
		{name: "open there", workspace: true, arch: native, number: unix.SYS_OPENAT, args: []uint64{0, 0, unix.O_RDONLY, 0o4755}, want: allow},
		{name: "create there", workspace: true, arch: native, number: unix.SYS_OPENAT, args: []uint64{0, 0, unix.O_CREAT, 0o4755}, want: errno | uint32(unix.EPERM)},
		{name: "create without a name there", workspace: true, arch: native, number: unix.SYS_OPENAT, args: []uint64{0, 0, unix.O_TMPFILE, 0o4755}, want: errno | uint32(unix.EPERM)},
		{name: "open a directory there", workspace: true, arch: native, number: unix.SYS_OPENAT, args: []uint64{0, 0, unix.O_DIRECTORY, 0o4755}, want: allow},
		{name: "resize a terminal", arch: native, number: unix.SYS_IOCTL, args: []uint64{0, unix.TIOCSWINSZ}, want: allow},
		{name: "a sign-extended request", arch: native, number: unix.SYS_IOCTL, args: []uint64{0, 0xffffffff80045430}, want: allow},
		{name: "type", arch: native, number: unix.SYS_IOCTL, args: []uint64{0, unix.TIOCSTI}, want: errno | uint32(unix.EPERM)},
		{name: "type, high bits", arch: native, number: unix.SYS_IOCTL, args: []uint64{0, 1<<40 | unix.TIOCSTI}, want: errno | uint32(unix.EPERM)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := evaluate(t, c.workspace, c.arch, c.number, c.args...); got != c.want {
				t.Errorf("got %#x, want %#x", got, c.want)
			}
		})
	}
}
