package runs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

// The host image shows /usr and a chosen part of /etc. Their mounts aren't
// mapped: to everybody in the sandbox, its root included, the host's files
// belong to somebody else, so only what anybody on the host may read can be
// read. Nothing on these lists holds a credential: no shadow, no git, npm or
// apt credentials, no keys.

// hostMounts are mounted read-only where they exist.
var hostMounts = []string{
	"/usr",
	"/etc/alternatives", "/etc/fonts", "/etc/java*", "/etc/ld.so.cache", "/etc/ld.so.conf.d", "/etc/mime.types",
	"/etc/perl", "/etc/python3*", "/etc/protocols", "/etc/services", "/etc/terminfo", "/etc/X11",
	"/sys/devices/system/cpu", "/sys/devices/system/node",
}

// hostCopies are copied, so that the sandbox can change them.
var hostCopies = []string{
	"/etc/bash.bashrc", "/etc/debian_version", "/etc/inputrc", "/etc/ld.so.conf", "/etc/locale.alias",
	"/etc/locale.conf", "/etc/networks", "/etc/profile", "/etc/profile.d/*.sh", "/etc/shells", "/etc/timezone",
	"/etc/ssl/openssl.cnf", "/etc/default/locale", "/etc/redhat-release", "/etc/alpine-release",
	"/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list", "/etc/apt/sources.list.d/*.sources",
	"/etc/apt/trusted.gpg", "/etc/apt/trusted.gpg.d/*", "/etc/apt/keyrings/*", "/etc/apt/preferences.d/*",
	"/etc/apt/apt.conf.d/*",
}

// hostLinks are copied where they are symbolic links on the host, and mounted
// where they are still directories.
var hostLinks = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/localtime", "/etc/os-release"}

// maxCopy is the largest file of the host that is copied into each sandbox.
const maxCopy = 1 << 20

const passwd = `root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
_apt:x:42:65534::/nonexistent:/usr/sbin/nologin
user:x:1000:1000:user:/home/user:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
`

const group = `root:x:0:
daemon:x:1:
adm:x:4:
tty:x:5:
staff:x:50:
user:x:1000:
nogroup:x:65534:
`

const nsswitch = `passwd: files
group: files
hosts: files dns
networks: files
protocols: files
services: files
`

// hostDirs are made in an otherwise empty root.
var hostDirs = []wire.Entry{
	{Kind: wire.Dir, Path: "/etc", Mode: 0o755},
	{Kind: wire.Dir, Path: "/home", Mode: 0o755},
	{Kind: wire.Dir, Path: "/mnt", Mode: 0o755},
	{Kind: wire.Dir, Path: "/opt", Mode: 0o755},
	{Kind: wire.Dir, Path: "/root", Mode: 0o700},
	{Kind: wire.Dir, Path: "/run", Mode: 0o755},
	{Kind: wire.Dir, Path: "/srv", Mode: 0o755},
	{Kind: wire.Dir, Path: "/sys", Mode: 0o755},
	{Kind: wire.Dir, Path: "/var/cache/apt/archives/partial", Mode: 0o755},
	{Kind: wire.Dir, Path: "/var/lib/apt/lists/partial", Mode: 0o755},
	{Kind: wire.Dir, Path: "/var/lib/dpkg", Mode: 0o755},
	{Kind: wire.Dir, Path: "/var/log", Mode: 0o755},
	{Kind: wire.Dir, Path: "/var/tmp", Mode: 0o777 | fsSticky},
	{Kind: wire.Link, Path: "/var/run", Data: []byte("/run")},
	{Kind: wire.Link, Path: "/etc/mtab", Data: []byte("/proc/self/mounts")},
	{Kind: wire.File, Path: "/etc/passwd", Mode: 0o644, Data: []byte(passwd)},
	{Kind: wire.File, Path: "/etc/group", Mode: 0o644, Data: []byte(group)},
	{Kind: wire.File, Path: "/etc/nsswitch.conf", Mode: 0o644, Data: []byte(nsswitch)},
	{Kind: wire.File, Path: "/var/lib/dpkg/status", Mode: 0o644},
}

// userinfo finds credentials in a URL.
var userinfo = regexp.MustCompile(`://[^/\s"]*@`)

// hostImage returns what the host image consists of: the mounts by their path
// on the host, which is where they go, and what is created besides.
func hostImage() (mounts []string, entries []wire.Entry, err error) {
	for _, pattern := range hostMounts {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, nil, err
		}
		mounts = append(mounts, paths...)
	}
	entries = append(entries, hostDirs...)
	for _, path := range hostLinks {
		if target, err := os.Readlink(path); err == nil {
			entries = append(entries, wire.Entry{Kind: wire.Link, Path: path, Data: []byte(target)})
		} else if st, err := os.Stat(path); err == nil && st.IsDir() {
			mounts = append(mounts, path)
		}
	}
	for _, pattern := range hostCopies {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, nil, err
		}
		for _, path := range paths {
			e, err := hostCopy(path)
			if err != nil {
				return nil, nil, err
			}
			if e != nil {
				entries = append(entries, *e)
			}
		}
	}
	return mounts, entries, nil
}

// hostCopy returns the file as an entry, or nil if it isn't for a sandbox: it
// isn't a file that anybody may read, is too large, or holds a credential.
func hostCopy(path string) (*wire.Entry, error) {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Mode()&0o004 == 0 || st.Size() > maxCopy {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(path, "/etc/apt/") && userinfo.Match(b) {
		return nil, nil
	}
	return &wire.Entry{Kind: wire.File, Path: path, Mode: 0o644, Data: b}, nil
}
