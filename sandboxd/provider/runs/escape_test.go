package runs_test

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// attempts are what testdata/escape.py tries, and which answers say that it
// led nowhere: as the user and as root of the sandbox.
var attempts = []struct{ name, user, root string }{
	{"vsock", "EAFNOSUPPORT", "EAFNOSUPPORT"},
	{"vsock datagram", "EAFNOSUPPORT", "EAFNOSUPPORT"},
	{"vsock with high bits", "EAFNOSUPPORT", "EAFNOSUPPORT"},
	{"vsock by socketpair", "EAFNOSUPPORT", "EAFNOSUPPORT"},
	{"packet", "EAFNOSUPPORT", "EAFNOSUPPORT"},
	{"alg", "EAFNOSUPPORT", "EAFNOSUPPORT"},
	{"xdp", "EAFNOSUPPORT", "EAFNOSUPPORT"},
	{"bluetooth", "EAFNOSUPPORT", "EAFNOSUPPORT"},
	{"netlink audit", "EAFNOSUPPORT", "EAFNOSUPPORT"},
	{"netlink netfilter", "EAFNOSUPPORT", "EAFNOSUPPORT"},
	{"netlink with high bits", "EAFNOSUPPORT", "EAFNOSUPPORT"},
	{"raw ip", "EPERM", "EPERM"},
	{"raw icmp", "EPERM", "EPERM"},
	{"ping socket", "EACCES", "EACCES"},
	{"raw ipv6", "EPERM", "EPERM"},
	{"transparent", "EPERM", "EPERM"},
	{"add address", "EPERM", "EPERM"},
	{"delete route", "EPERM", "EPERM"},
	{"set lo down", "EPERM", "EPERM"},
	{"add link", "EPERM", "EPERM"},
	{"call of i386", "ENOSYS|EFAULT", "ENOSYS|EFAULT"},
	{"vsock of i386", "ENOSYS|EFAULT", "ENOSYS|EFAULT"},
	{"call of x32", "ENOSYS", "ENOSYS"},
	{"call of tomorrow", "ENOSYS", "ENOSYS"},
	{"unshare net", "EPERM", "EPERM"},
	{"unshare user", "EPERM", "EPERM"},
	{"unshare user by clone", "EPERM", "EPERM"},
	{"unshare mount by clone", "EPERM", "EPERM"},
	{"clone3", "ENOSYS", "ENOSYS"},
	{"setns", "EPERM", "EPERM"},
	{"unshare tool", "failed", "failed"},
	{"mount", "EPERM", "EPERM"},
	{"remount usr", "EPERM", "EPERM"},
	{"umount", "EPERM", "EPERM"},
	{"fsopen", "EPERM", "EPERM"},
	{"open_tree", "EPERM", "EPERM"},
	{"move_mount", "EPERM", "EPERM"},
	{"mount_setattr", "EPERM", "EPERM"},
	{"pivot_root", "EPERM", "EPERM"},
	{"chroot", "EPERM", "EPERM"},
	{"parents", "ENOENT", "ENOENT"},
	{"shadow", "ENOENT", "ENOENT"},
	{"state directory", "ENOENT", "ENOENT"},
	{"read kcore", "ENOENT|done 0", "ENOENT|done 0"},
	{"write sysctl", "EROFS|EACCES", "EROFS"},
	{"write own sysctl", "EROFS|EACCES", "EROFS"},
	{"write sysrq", "EROFS|EACCES|ENOENT", "EROFS|ENOENT"},
	{"write usr", "EROFS|EACCES", "EROFS"},
	{"keyctl", "EPERM", "EPERM"},
	{"add_key", "EPERM", "EPERM"},
	{"request_key", "EPERM", "EPERM"},
	{"open_by_handle_at", "EPERM", "EPERM"},
	{"ptrace init", "EPERM", "EPERM"},
	{"read memory of init", "EPERM", "EPERM"},
	{"descriptor of init", "EPERM", "EPERM"},
	{"root of init", "EACCES", "EACCES"},
	{"descriptors of init", "EACCES", "EACCES"},
	{"bpf", "EPERM", "EPERM"},
	{"io_uring", "ENOSYS", "ENOSYS"},
	{"userfaultfd", "EPERM", "EPERM"},
	{"perf_event_open", "EPERM", "EPERM"},
	{"kexec", "EPERM", "EPERM"},
	{"load module", "EPERM", "EPERM"},
	{"set clock", "EPERM", "EPERM"},
	{"set host name", "EPERM", "EPERM"},
	{"device node", "EPERM", "EPERM"},
	{"type into a terminal", "EPERM", "EPERM"},
	{"type with high bits", "EPERM", "EPERM"},
	{"abstract socket", "ECONNREFUSED", "ECONNREFUSED"},
	{"set-user-id program", "failed", "failed|done None"},
	{"set-user-id file", "EPERM", "EPERM|EOVERFLOW"},
	{"set-user-id without a name", "EPERM", "EPERM"},
	{"set-user-id by open", "EPERM", "EPERM"},
	{"openat2", "ENOSYS", "ENOSYS"},
	{"kill init", "EPERM", "done None"},
	{"kill init hard", "EPERM", "done None"},
	{"still alive", "done None", "done None"},
}

// Ledger: ED-5, EX-18
func TestNoWayOut(t *testing.T) {
	script, err := os.ReadFile("testdata/escape.py")
	if err != nil {
		t.Fatal(err)
	}
	hidden := t.TempDir()
	name := fmt.Sprintf("sallyport-test-%d", os.Getpid())
	l, err := net.Listen("unix", "@"+name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	sb, _ := newSandbox(t, newProvider(t), func(s *runs.Spec) { s.Workspace = ownedByUser(t) })
	for _, user := range []string{"user", "root"} {
		e := python(string(script), hidden, name)
		e.User = user
		out, exit := output(t, sb, e)
		checkAttempts(t, user, out, nil)
		if exit.Code != 0 {
			t.Errorf("as %s: %+v\n%s", user, exit, out)
		}
	}
}

// checkAttempts compares what escape.py said with attempts, or with other
// answers where those are given.
func checkAttempts(t *testing.T, user, out string, other map[string]string) {
	t.Helper()
	got := make(map[string]string)
	for line := range strings.Lines(out) {
		if what, result, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			got[what] = result
		}
	}
	for _, a := range attempts {
		want := a.user
		if user == "root" {
			want = a.root
		}
		if o, ok := other[a.name]; ok {
			want = o
		}
		if !slices.Contains(strings.Split(want, "|"), got[a.name]) {
			t.Errorf("as %s, %s: got %q, want %s", user, a.name, got[a.name], want)
		}
		delete(got, a.name)
	}
	for what, result := range got {
		t.Errorf("as %s, %s: %s isn't expected", user, what, result)
	}
}

// ownedByUser returns a directory of the host that isn't root's.
func ownedByUser(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chown(dir, 4321, 4322); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A program that starts sandboxes may itself have been started with open
// descriptors. A directory among them would be a way out: as one of a
// command's, or, for whoever names it, as its working directory.
func TestInheritedDescriptorsStayOutside(t *testing.T) {
	fd, err := syscall.Open("/", syscall.O_RDONLY|syscall.O_DIRECTORY, 0) // on purpose not close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	sb, _ := newSandbox(t, newProvider(t), nil)
	for _, user := range []string{"user", "root"} {
		e := shell("ls /proc/self/fd | sort -n | tr '\\n' ' '")
		e.User = user
		if out, _ := output(t, sb, e); out != "0 1 2 3" { // 3 is the listing's own
			t.Errorf("%s has descriptors %s", user, out)
		}
		for n := range 64 {
			out, exit := output(t, sb, runs.Exec{Argv: []string{"ls"}, Dir: fmt.Sprintf("/proc/self/fd/%d", n), User: user})
			if exit.Code != 126 {
				t.Errorf("%s started in descriptor %d: %+v\n%s", user, n, exit, out)
			}
		}
	}
}
