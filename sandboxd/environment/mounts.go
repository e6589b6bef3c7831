package environment

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/fault"
)

// checkMounts is ledger FM-2, FM-3 and FM-7. The error names the mount.
func checkMounts(d Definition) error {
	type placed struct {
		index int
		path  string
	}
	var files []placed
	for i, m := range d.Mounts {
		if message := badSource(m.Source); message != "" {
			return mountError(i, "source", message)
		}
		if message := badMountPath(m.Path); message != "" {
			return mountError(i, "mount_path", message)
		}
		files = append(files, placed{i, m.Path})
	}
	// In this order whatever lies inside a path comes right after it: a slash
	// sorts before everything that a path can have there.
	key := func(p placed) string { return strings.ReplaceAll(p.path, "/", "\x00") }
	slices.SortStableFunc(files, func(a, b placed) int { return cmp.Compare(key(a), key(b)) })
	for i := 1; i < len(files); i++ {
		outer, inner := files[i-1], files[i]
		if within(inner.path, outer.path) {
			return mountError(max(outer.index, inner.index), "mount_path",
				"overlaps with "+element("mounts", min(outer.index, inner.index))+": no two mounts can be at one path, or one inside the other")
		}
	}
	return nil
}

func mountError(i int, member, message string) error {
	e := fault.New(MountFailed, "%s", message)
	e.Param = element("mounts", i) + "." + member
	e.Details = map[string]any{"index": i}
	return e
}

// badSource says what is wrong with a mount's source, or nothing.
func badSource(source string) string {
	u, err := url.Parse(source)
	switch {
	case err != nil:
		return "is not a URL"
	case u.Scheme != "https":
		return "must be an https URL"
	case u.User != nil:
		return "must not have a user name or password"
	case u.Opaque != "" || u.Host == "":
		return "must name a host"
	}
	if _, err := policy.CanonicalHost(u.Hostname()); err != nil {
		return "must name a host: " + err.Error()
	}
	return ""
}

// badMountPath says what is wrong with a mount's path, or nothing.
func badMountPath(path string) string {
	switch {
	case path == "":
		return "must name a file below /workspace"
	case strings.HasPrefix(path, "/"):
		return "must be relative to /workspace"
	case strings.HasSuffix(path, "/"):
		return "must name a file, so it can't end in /"
	case strings.ContainsRune(path, 0):
		return "has a NUL"
	}
	for part := range strings.SplitSeq(path, "/") {
		switch {
		case part == "..":
			return "can't contain .."
		case part == "" || part == ".":
			return "can't have empty parts or ."
		case len(part) > 255:
			return "has a part of more than 255 bytes"
		}
	}
	for _, dir := range reservedDirs {
		if within(path, dir) {
			return "is in " + dir + ", which isn't for mounts"
		}
	}
	return ""
}
