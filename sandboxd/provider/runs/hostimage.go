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

// The host image shows /usr and a chosen part of /etc. The mount of /usr isn't
// mapped: to everybody in the sandbox, its root included, the host's files
// belong to somebody else, so only what anybody on the host may read can be
// read. Of /etc such files are copied. Nothing on these lists holds a
// credential: no shadow, no git, npm or apt credentials, no keys.

// hostMounts are directories that are mounted read-only where they exist and
// aren't links.
var hostMounts = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/sys/devices/system/cpu", "/sys/devices/system/node",
}

// hostLinks are copied where they are symbolic links.
var hostLinks = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/localtime", "/etc/os-release"}

// hostCopies are copied where they exist.
var hostCopies = []string{
	"/etc/alternatives", "/etc/fonts", "/etc/java*", "/etc/perl", "/etc/python3*", "/etc/terminfo", "/etc/X11",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	"/etc/bash.bashrc", "/etc/inputrc", "/etc/profile", "/etc/profile.d/*.sh", "/etc/shells",
	"/etc/locale.alias", "/etc/locale.conf", "/etc/default/locale", "/etc/timezone",
	"/etc/mime.types", "/etc/networks", "/etc/protocols", "/etc/services", "/etc/ssl/openssl.cnf",
	"/etc/debian_version", "/etc/redhat-release", "/etc/alpine-release",
	"/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list", "/etc/apt/sources.list.d/*.sources",
	"/etc/apt/trusted.gpg", "/etc/apt/trusted.gpg.d", "/etc/apt/keyrings", "/etc/apt/preferences.d", "/etc/apt/apt.conf.d",
}

// maxCopy is the largest file of the host that is copied.
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

// hostFiles returns the host's part of the host image: what lies at the paths
// that are copied, directories with all that is in them.
func hostFiles() ([]hostFile, error) {
	var files []hostFile
	for _, pattern := range hostCopies {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return skipMissing(err)
				}
				info, err := d.Info()
				if err != nil {
					return skipMissing(err)
				}
				files = append(files, hostFile{path, info})
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// skipMissing passes over what was replaced or can't be read: then it isn't
// for a sandbox either.
func skipMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// hostFile is a file, directory or link of the host, as found.
type hostFile struct {
	path string
	info fs.FileInfo
}

// entry returns the file as an entry, or nil if it isn't for a sandbox: not
// everybody may read it, it is too large, or it holds a credential.
func (f hostFile) entry() (*wire.Entry, error) {
	const everybodyReads, everybodyEnters = 0o004, 0o001
	switch mode := f.info.Mode(); {
	case mode.IsDir() && mode&everybodyEnters != 0:
		return &wire.Entry{Kind: wire.Dir, Path: f.path, Mode: 0o755}, nil
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(f.path)
		if err != nil {
			return nil, skipMissing(err)
		}
		return &wire.Entry{Kind: wire.Link, Path: f.path, Data: []byte(target)}, nil
	case mode.IsRegular() && mode&everybodyReads != 0 && f.info.Size() <= maxCopy:
		b, err := os.ReadFile(f.path)
		if err != nil {
			return nil, skipMissing(err)
		}
		if strings.HasPrefix(f.path, "/etc/apt/") && userinfo.Match(b) {
			return nil, nil
		}
		return &wire.Entry{Kind: wire.File, Path: f.path, Mode: 0o644, Data: b}, nil
	}
	return nil, nil
}
