package gitmount

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxPath = 1024 // bytes

// home must survive every staging, so it can't be a mount or be in one.
const home = "/home/user"

// system are directories that no mount may be, hold or be in.
var system = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/opt/sallyport", "/proc", "/root", "/run",
	"/sbin", "/sys", "/usr", "/var/lib", "/var/run",
}

// reserved are directories of /workspace that are the platform's (ledger FM-7).
var reserved = []string{".managed-agents", ".sallyport", ".venv"}

const workspace = "/workspace"

// checkPath says whether a directory of the sandbox may be a mount.
func checkPath(p string) error {
	switch {
	case !path.IsAbs(p) || path.Clean(p) != p:
		return errors.New("expected an absolute path without . and .. and without a slash at its end")
	case len(p) > maxPath || !utf8.ValidString(p):
		return fmt.Errorf("expected at most %d bytes of UTF-8", maxPath)
	case strings.ContainsFunc(p, func(c rune) bool { return !unicode.IsPrint(c) }):
		return errors.New("expected printable characters")
	case slices.Contains(strings.Split(p, "/"), ".git"):
		return errors.New("expected no .git in the path")
	case within(home, p):
		return fmt.Errorf("expected a directory that doesn't hold %s, which outlives the checkout", home)
	}
	for _, dir := range system {
		if within(p, dir) || within(dir, p) {
			return fmt.Errorf("expected a directory outside of %s", dir)
		}
	}
	for _, name := range reserved {
		if within(p, path.Join(workspace, name)) {
			return fmt.Errorf("expected a directory outside of %s", path.Join(workspace, name))
		}
	}
	return nil
}

// apart says whether m is neither at, in, nor around another mount.
func apart(mounts []Mount, m Mount) *DocumentError {
	for i, other := range mounts {
		if within(m.Path, other.Path) || within(other.Path, m.Path) {
			return &DocumentError{CodeInvalid, "mountPath", fmt.Sprintf("expected a directory apart from that of git_mounts[%d]", i)}
		}
	}
	return nil
}

// within reports whether p is dir or below it; both are clean.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
