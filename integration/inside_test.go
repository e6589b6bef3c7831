package integration_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
)

// A probe is Python that tries to get out of a sandbox. It calls reached() when
// it did; an OSError is what a closed way looks like.
type probe struct {
	name, script string
}

// The hostile sandbox: whatever its user or its root tries that isn't TCP or a
// query of names leads nowhere, whoever started it.
//
// Ledger: ED-5, ED-10, ED-35
func TestNothingElseLeadsOut(t *testing.T) {
	t.Parallel()
	host := newTargets(t)
	for _, who := range callers {
		for _, user := range who.users() {
			for _, p := range append(host.probes(), probes...) {
				t.Run(who.name+"/"+user+"/"+p.name, func(t *testing.T) {
					t.Parallel()
					flags := []string{"--unrestricted", "--user", user}
					res := sandbox(t, who, flags, "/usr/bin/python3", "-c", prelude+p.script+"\nprint('tried all')")
					res.want(t, 0)
					contains(t, res.stdout, "tried all")
					if strings.Contains(res.stdout, "REACHED") {
						t.Errorf("got out:\n%s", clip(res.stdout))
					}
				})
			}
		}
	}
	t.Cleanup(func() { host.untouched(t) })
}

// prelude gives probes what they share: attempt runs one and says how it went.
const prelude = `
import ctypes, errno, fcntl, glob, os, select, socket, stat, struct, subprocess, sys
def attempt(what, f):
    try:
        r = f()
        print(("REACHED " if r else "no answer from ") + what, r if r else "")
    except OSError as e:
        print("closed:", what, e)
def exchange(s, data, *to):
    s.settimeout(1.5)
    s.sendto(data, *to) if to else s.send(data)
    return s.recv(2048)
def opened(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags))
    return True
`

// probes need nothing but the sandbox.
var probes = []probe{
	{"ICMP", `
echo = struct.pack(">BBHHH", 8, 0, 0xf7fd, 1, 1)
for kind in socket.SOCK_RAW, socket.SOCK_DGRAM:
    for to in "192.0.2.1", "198.51.100.1":
        attempt(f"ping {kind} {to}", lambda: exchange(socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP), echo, (to, 0)))
`},
	{"raw IP", `
attempt("raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW))
attempt("raw IPv6 socket", lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW))
`},
	{"IPv6", `
def tcp6(to):
    s = socket.socket(socket.AF_INET6); s.settimeout(3); s.connect((to, 443)); return True
for to in "2001:db8::1", "2606:4700::1", "fe80::1%lo", "ff02::1":
    attempt("TCP to " + to, lambda: tcp6(to))
    attempt("UDP to " + to, lambda: exchange(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM), b"x", (to, 53)))
`},
	{"AF_VSOCK", `
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET:
    attempt(f"vsock {kind}", lambda: socket.socket(40, kind))
attempt("vsock device", lambda: opened("/dev/vsock"))
`},
	{"AF_PACKET", `
for kind in socket.SOCK_RAW, socket.SOCK_DGRAM:
    attempt(f"packet {kind}", lambda: socket.socket(socket.AF_PACKET, kind, socket.htons(3)))
`},
	{"other families", `
for name, family, kind in ("AF_ALG", 38, socket.SOCK_SEQPACKET), ("AF_XDP", 44, socket.SOCK_RAW), ("AF_BLUETOOTH", 31, socket.SOCK_RAW), ("AF_CAN", 29, socket.SOCK_RAW), ("AF_TIPC", 30, socket.SOCK_RDM):
    attempt(name, lambda: socket.socket(family, kind))
`},
	{"interfaces and rules", `
def ip(*args):
    r = subprocess.run(["ip", *args], capture_output=True, text=True)
    print(args, r.returncode, r.stderr.strip())
    return r.returncode == 0
attempt("new interface", lambda: ip("link", "add", "out0", "type", "dummy"))
attempt("tunnel", lambda: ip("tuntap", "add", "out1", "mode", "tun"))
attempt("route", lambda: ip("route", "add", "default", "dev", "lo"))
attempt("local route", lambda: ip("route", "flush", "table", "local"))
attempt("policy rule", lambda: ip("rule", "add", "prio", "1", "blackhole"))
attempt("loopback down", lambda: ip("link", "set", "lo", "down"))
links = os.listdir("/sys/class/net") if os.path.isdir("/sys/class/net") else [n for _, n in socket.if_nameindex()]
attempt("interface", lambda: [n for n in links if n != "lo"])
attempt("tun device", lambda: opened("/dev/net/tun", os.O_RDWR))
`},
	{"namespaces", `
libc = ctypes.CDLL(None, use_errno=True)
def setns(path):
    fd = os.open(path, os.O_RDONLY)
    mine = os.stat("/proc/self/ns/net").st_ino
    if os.fstat(fd).st_ino == mine:
        return False
    if libc.setns(fd, 0) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    return True
for path in set(glob.glob("/proc/[0-9]*/ns/net") + glob.glob("/run/netns/*") + glob.glob("/var/run/netns/*")):
    attempt(path, lambda: setns(path))
`},
	{"control sockets", `
for top, dirs, files in os.walk("/"):
    if top in ("/proc", "/sys", "/usr"):
        dirs[:] = []
        continue
    for name in files + dirs:
        path = os.path.join(top, name)
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            continue
        def talk():
            s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect(path)
            return exchange(s, b"GET /v1/boundaries HTTP/1.1\r\nHost: edge\r\n\r\n")
        attempt(path, talk)
names = [l.split()[-1] for l in open("/proc/net/unix").read().splitlines()[1:] if l.split()[-1].startswith(("@", "/"))]
own = "@sallyport/broker" # of this sandbox alone; it answers nothing of the control socket's
attempt("a named unix socket", lambda: [n for n in names if n != own and not n.startswith("/workspace")])
def control_through_broker():
    s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect("\0" + own[1:])
    answer = exchange(s, b"GET /v1/trust HTTP/1.1\r\nHost: edge\r\n\r\n")
    return answer if b" 200 " in answer[:20] else None
attempt("the control socket's paths through the broker", control_through_broker)
`},
	{"CA key", `
def keys():
    found = []
    for top, dirs, files in os.walk("/"):
        if top in ("/proc", "/sys", "/usr"):
            dirs[:] = []
            continue
        for name in files:
            path = os.path.join(top, name)
            try:
                if stat.S_ISREG(os.lstat(path).st_mode) and b"PRIVATE KEY" in open(path, "rb").read():
                    found.append(path)
            except OSError:
                pass
    return found
attempt("a private key", keys)
`},
	{"the host's processes", `
me = os.getpid()
for pid in (int(p) for p in os.listdir("/proc") if p.isdigit()):
    try:
        name = open(f"/proc/{pid}/comm").read().strip()
    except OSError:
        continue
    attempt(f"process {pid} {name}", lambda: name in ("sallyport", "edge", "sandboxd", "systemd", "init"))
`},
	{"the host's devices", `
for name, major, minor in ("disk", 254, 0), ("first disk", 8, 0), ("memory", 1, 1), ("kernel log", 1, 11):
    def node():
        path = f"/workspace/{name}"
        os.mknod(path, stat.S_IFBLK | 0o600 if "disk" in name else stat.S_IFCHR | 0o600, os.makedev(major, minor))
        return opened(path)
    attempt(name, node)
for path in "/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/fuse", "/dev/loop-control", "/proc/kcore", "/proc/sysrq-trigger":
    attempt(path, lambda: opened(path, os.O_WRONLY) if path == "/proc/sysrq-trigger" else bool(os.read(os.open(path, os.O_RDONLY), 1)))
for path in "/proc/sys/kernel/core_pattern", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv4/icmp_echo_ignore_all":
    attempt(path, lambda: opened(path, os.O_WRONLY))
`},
}

// targets are things of the host that no sandbox may reach. They remember
// whether one did.
type targets struct {
	tcp, tcp6 net.Listener
	udp       []*net.UDPConn
	abstract  net.Listener
	files     []string
	touched   chan string
}

func newTargets(t *testing.T) *targets {
	t.Helper()
	h := &targets{touched: make(chan string, 100)}
	listen := func(network, addr string) net.Listener {
		l, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				h.touched <- "a connection to " + network + " " + addr
				c.Close()
			}
		}()
		return l
	}
	h.tcp = listen("tcp", "127.0.0.1:0")
	h.tcp6 = listen("tcp", "[::1]:0")
	h.abstract = listen("unix", fmt.Sprintf("@sallyport-test-%d", os.Getpid()))
	for _, addr := range hostAddresses(t) {
		l, err := net.ListenUDP("udp", &net.UDPAddr{IP: addr})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		h.udp = append(h.udp, l)
		go func() {
			buf := make([]byte, 16)
			for {
				_, from, err := l.ReadFromUDP(buf)
				if err != nil {
					return
				}
				h.touched <- fmt.Sprintf("a datagram to %s from %s", l.LocalAddr(), from)
			}
		}()
	}
	for _, dir := range []string{"/etc", "/home", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/var/lib", "/var/log", "/var/tmp"} {
		f, err := os.CreateTemp(dir, "sallyport-test-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(f.Name()) })
		if _, err := f.WriteString("only the host may read this\n"); err != nil || f.Chmod(0o666) != nil || f.Close() != nil {
			t.Fatalf("write %s: %v", f.Name(), err)
		}
		h.files = append(h.files, f.Name())
	}
	return h
}

// hostAddresses returns the machine's own IPv4 addresses, loopback included.
func hostAddresses(t *testing.T) []net.IP {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var ips []net.IP
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			ips = append(ips, n.IP)
		}
	}
	return ips
}

func (h *targets) probes() []probe {
	var udp strings.Builder
	for _, l := range h.udp {
		a := l.LocalAddr().(*net.UDPAddr)
		fmt.Fprintf(&udp, "attempt('UDP to %s', lambda: exchange(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), b'x', ('%s', %d)))\n", a, a.IP, a.Port)
	}
	udp.WriteString(`
for port in 123, 443, 4789, 51820:
    attempt(f"UDP {port}", lambda: exchange(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), b"x", ("192.0.2.1", port)))
`)
	return []probe{
		{"UDP", udp.String()},
		{"the host's loopback", fmt.Sprintf(`
def tcp(family, to):
    s = socket.socket(family); s.settimeout(3); s.connect(to); return True
attempt("127.0.0.1", lambda: tcp(socket.AF_INET, ("127.0.0.1", %d)))
attempt("::1", lambda: tcp(socket.AF_INET6, ("::1", %d)))
`, h.tcp.Addr().(*net.TCPAddr).Port, h.tcp6.Addr().(*net.TCPAddr).Port)},
		{"abstract sockets", fmt.Sprintf(`
def connect():
    s = socket.socket(socket.AF_UNIX); s.connect("\0%s"); return True
attempt("the host's abstract socket", connect)
`, h.abstract.Addr().String()[1:])},
		{"the host's files", fmt.Sprintf(`
paths = "%s".split() + ["/etc/shadow", "/etc/sudoers", "/etc/ssh", "/boot", "/run/docker.sock"]
for path in paths + ["/proc/1/root" + p for p in paths] + ["/workspace/../../.." + p for p in paths]:
    attempt(path, lambda: opened(path))
`, strings.Join(h.files, " "))},
	}
}

// untouched fails the test if anything was reached, whatever its sandbox said.
func (h *targets) untouched(t *testing.T) {
	t.Helper()
	for {
		select {
		case what := <-h.touched:
			t.Errorf("a sandbox made %s", what)
		default:
			return
		}
	}
}
