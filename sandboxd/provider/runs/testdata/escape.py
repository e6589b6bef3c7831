"""Tries to get out of a sandbox and prints what came of each attempt."""
import ctypes, errno, fcntl, mmap, os, socket, struct, subprocess, sys

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def syscall(number, *args):
    args = [a if isinstance(a, (bytes, ctypes.c_void_p)) or a is None else ctypes.c_ulong(a & (2**64 - 1)) for a in args]
    r = libc.syscall(ctypes.c_long(number), *args)
    if r < 0:
        raise OSError(ctypes.get_errno(), "")
    return r


def attempt(name, f):
    try:
        result = "done %s" % (f(),)
    except OSError as e:
        result = errno.errorcode.get(e.errno, type(e).__name__)
    except subprocess.CalledProcessError as e:
        result = "failed"
    print(name + ": " + result, flush=True)


def run(*argv):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def sock(family, kind, proto=0):
    def f():
        socket.socket(family, kind, proto).close()
    return f


def raw_socket(family, kind=socket.SOCK_STREAM, proto=0):
    return lambda: syscall(41, family, kind, proto)


def i386(number, *args):
    """Makes a system call of the 32-bit architecture, by int 0x80."""
    ebx, ecx, edx = (list(args) + [0, 0, 0])[:3]
    code = (b"\x53" + b"\xb8" + struct.pack("<i", number) + b"\xbb" + struct.pack("<I", ebx) +
            b"\xb9" + struct.pack("<I", ecx) + b"\xba" + struct.pack("<I", edx) + b"\xcd\x80" + b"\x5b" + b"\xc3")
    m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    m.write(code)
    call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
    pid = os.fork()
    if pid == 0:
        os._exit(-min(call(), 0) & 127)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):  # not every machine has that interrupt
        raise OSError(errno.EFAULT, "")
    if os.WEXITSTATUS(status):
        raise OSError(os.WEXITSTATUS(status), "")


def write(path, text=b"1"):
    with open(path, "wb") as f:
        f.write(text)


def read(path):
    with open(path, "rb") as f:
        return len(f.read(100))


def netlink_request(kind, flags, body):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    s.send(struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body)
    reply = s.recv(65536)
    code = struct.unpack_from("=i", reply, 16)[0]
    if struct.unpack_from("=H", reply, 4)[0] == 2 and code < 0:
        raise OSError(-code, "")


def new_address():
    # RTM_NEWADDR, request|ack|create: 10.9.9.9/32 on lo
    netlink_request(20, 0x405, struct.pack("=BBBBI", 2, 32, 0, 0, 1) + struct.pack("=HH4B", 8, 2, 10, 9, 9, 9))


def delete_route():
    # RTM_DELROUTE, request|ack: local 0.0.0.0/0
    netlink_request(25, 0x5, struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 255, 0, 0, 2, 0))


def lo_down():
    netlink_request(16, 0x5, struct.pack("=BxHiII", 0, 0, 1, 0, 1))


def new_link():
    # RTM_NEWLINK, create: a dummy
    info = struct.pack("=HH", 10, 1) + b"dummy\0\0\0"
    netlink_request(16, 0x605, struct.pack("=BxHiII", 0, 0, 0, 0, 0) + struct.pack("=HH", 4 + len(info), 18) + info)


def transparent():
    s = socket.socket()
    s.setsockopt(socket.SOL_IP, 19, 1)


def handle():
    # struct file_handle with the root directory's inode number
    h = struct.pack("=Ii", 8, 1) + struct.pack("=II", 2, 0)
    return syscall(304, -100, h, 0)


def ptrace_init():
    return syscall(101, 16, 1, None, None)


def vm_read_init():
    b = ctypes.create_string_buffer(8)
    local = struct.pack("=QQ", ctypes.addressof(b), 8)
    remote = struct.pack("=QQ", 0x400000, 8)
    return syscall(310, 1, local, 1, remote, 1, 0)


def pidfd_getfd():
    return syscall(438, syscall(434, 1, 0), 3, 0)


def abstract(name):
    def f():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.connect("\0" + name)
    return f


def mknod():
    os.mknod("/tmp/disk", 0o60666, os.makedev(254, 0))
    return read("/tmp/disk")


def setuid_gains():
    r = subprocess.run(["/usr/bin/su", "-c", "id -u"], stdin=subprocess.DEVNULL, capture_output=True)
    if r.returncode:
        raise subprocess.CalledProcessError(r.returncode, "su")


def set_id_file(path):
    def f():
        with open(path, "w"):
            pass
        os.chmod(path, 0o4755)
    return f


def keep_trying_parents():
    for _ in range(100):
        os.chdir("..")
    names = set(os.listdir("."))
    if "workspace" not in names:
        return sorted(names)
    raise OSError(errno.ENOENT, "")


def chroot_out():
    os.makedirs("/tmp/c", exist_ok=True)
    pid = os.fork()
    if pid == 0:
        try:
            os.chroot("/tmp/c")
            for _ in range(100):
                os.chdir("..")
            os.chroot(".")
            os._exit(0 if "workspace" not in os.listdir("/") else 1)
        except OSError:
            os._exit(1)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise OSError(errno.EPERM, "")


KEYS = dict(add=248, request=249, ctl=250)
host = sys.argv[1]  # a directory of the host that no sandbox should see
name = sys.argv[2]  # an abstract socket of the host

for what, f in [
    ("vsock", sock(40, socket.SOCK_STREAM)),
    ("vsock datagram", sock(40, socket.SOCK_DGRAM)),
    ("vsock with high bits", raw_socket(40 | 1 << 32)),
    ("vsock by socketpair", lambda: syscall(53, 40, 1, 0, b"\0" * 8)),
    ("packet", sock(17, socket.SOCK_RAW)),
    ("alg", sock(38, socket.SOCK_SEQPACKET)),
    ("xdp", sock(44, socket.SOCK_RAW)),
    ("bluetooth", sock(31, socket.SOCK_RAW)),
    ("netlink audit", sock(16, socket.SOCK_RAW, 9)),
    ("netlink netfilter", sock(16, socket.SOCK_RAW, 12)),
    ("netlink with high bits", raw_socket(16 | 1 << 32, 3, 12)),
    ("raw ip", sock(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)),
    ("raw icmp", sock(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)),
    ("ping socket", sock(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)),
    ("raw ipv6", sock(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)),
    ("transparent", transparent),
    ("add address", new_address),
    ("delete route", delete_route),
    ("set lo down", lo_down),
    ("add link", new_link),
    ("call of i386", lambda: i386(20)),
    ("vsock of i386", lambda: i386(359, 40, 1, 0)),
    ("call of x32", lambda: syscall(0x40000000 + 39)),
    ("call of tomorrow", lambda: syscall(999)),
    ("unshare net", lambda: syscall(272, 0x40000000)),
    ("unshare user", lambda: syscall(272, 0x10000000)),
    ("unshare user by clone", lambda: syscall(56, 0x10000000 | 17, None, None, None, None)),
    ("unshare mount by clone", lambda: syscall(56, 0x00020000 | 17, None, None, None, None)),
    ("clone3", lambda: syscall(435, b"\0" * 64, 64)),
    ("setns", lambda: syscall(308, os.open("/proc/self/ns/net", 0), 0)),
    ("unshare tool", lambda: run("unshare", "-r", "true")),
    ("mount", lambda: syscall(165, b"none", b"/mnt", b"tmpfs", 0, None)),
    ("remount usr", lambda: syscall(165, b"none", b"/usr", None, 0x1020, None)),
    ("umount", lambda: syscall(166, b"/proc/sys", 2)),
    ("fsopen", lambda: syscall(430, b"tmpfs", 0)),
    ("open_tree", lambda: syscall(428, -100, b"/", 1)),
    ("move_mount", lambda: syscall(429, -100, b"/usr", -100, b"/mnt", 0)),
    ("mount_setattr", lambda: syscall(442, -100, b"/usr", 0, b"\0" * 32, 32)),
    ("pivot_root", lambda: syscall(155, b"/", b"/mnt")),
    ("chroot", chroot_out),
    ("parents", keep_trying_parents),
    ("shadow", lambda: read("/etc/shadow")),
    ("state directory", lambda: os.listdir(host)),
    ("read kcore", lambda: read("/proc/kcore")),
    ("write sysctl", lambda: write("/proc/sys/kernel/core_pattern", b"|/tmp/x")),
    ("write own sysctl", lambda: write("/proc/sys/net/ipv4/icmp_echo_ignore_all", b"0")),
    ("write sysrq", lambda: write("/proc/sysrq-trigger", b"h")),
    ("write usr", lambda: write("/usr/bin/evil")),
    ("keyctl", lambda: syscall(KEYS["ctl"], 0, -3, 0)),
    ("add_key", lambda: syscall(KEYS["add"], b"user", b"k", b"v", 1, -3)),
    ("request_key", lambda: syscall(KEYS["request"], b"user", b"k", None, 0)),
    ("open_by_handle_at", handle),
    ("ptrace init", ptrace_init),
    ("read memory of init", vm_read_init),
    ("descriptor of init", pidfd_getfd),
    ("root of init", lambda: os.listdir("/proc/1/root/")),
    ("descriptors of init", lambda: os.readlink("/proc/1/fd/0")),
    ("bpf", lambda: syscall(321, 0, b"\0" * 64, 64)),
    ("io_uring", lambda: syscall(425, 8, b"\0" * 120)),
    ("userfaultfd", lambda: syscall(323, 1)),
    ("perf_event_open", lambda: syscall(298, b"\0" * 128, 0, -1, -1, 0)),
    ("kexec", lambda: syscall(246, 0, 0, None, 0)),
    ("load module", lambda: syscall(313, 0, b"", 0)),
    ("set clock", lambda: syscall(227, 0, struct.pack("=qq", 0, 0))),
    ("set host name", lambda: syscall(170, b"x", 1)),
    ("device node", mknod),
    ("type into a terminal", lambda: syscall(16, 0, 0x5412, b"x")),
    ("type with high bits", lambda: syscall(16, 0, 0x5412 | 1 << 32, b"x")),
    ("abstract socket", abstract(name)),
    ("set-user-id program", setuid_gains),
    ("set-user-id file", set_id_file("/workspace/suid")),
    ("set-user-id without a name", lambda: os.close(os.open("/workspace", os.O_TMPFILE | os.O_WRONLY, 0o4755))),
    ("set-user-id by open", lambda: os.close(os.open("/workspace/suid2", os.O_CREAT | os.O_WRONLY, 0o4755))),
    ("openat2", lambda: syscall(437, -100, b"/workspace/x", struct.pack("=QQQ", os.O_CREAT, 0o4755, 0), 24)),
    ("kill init", lambda: os.kill(1, 15)),
    ("kill init hard", lambda: os.kill(1, 9)),
]:
    attempt(what, f)
attempt("still alive", lambda: None)
