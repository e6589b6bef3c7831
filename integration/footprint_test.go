package integration_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A footprint is what runs can leave on a machine, by kind.
type footprint map[string][]string

// measure takes the footprint of the whole machine. dirs are folders in which
// every file counts; those that everybody writes to don't count, so runs that
// are measured have a TMPDIR of their own.
func measure(t *testing.T, dirs ...string) footprint {
	t.Helper()
	f := footprint{}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		// A run's processes are the product's and those in namespaces; what
		// else begins meanwhile is the machine's own business.
		exe, exeErr := os.Readlink(p + "/exe")
		space, nsErr := os.Readlink(p + "/ns/pid")
		if exeErr == nil && strings.HasPrefix(exe, product.Dir) || nsErr == nil && space != ours {
			f.add("process", filepath.Base(p)+" "+exe)
		}
		spaces, _ := filepath.Glob(p + "/ns/*") // empty once the process is gone
		for _, ns := range spaces {
			if id, err := os.Readlink(ns); err == nil {
				f.add("namespace", id)
			}
		}
	}
	f.addLines(t, "mount", "/proc/self/mountinfo")
	f.addLines(t, "unix socket", "/proc/net/unix")
	f.addLines(t, "TCP socket", "/proc/net/tcp")
	f.addLines(t, "named network", "/proc/net/dev")
	for _, dir := range append(dirs, "/run", "/dev/shm", "/var/lib", "/sys/fs/cgroup") {
		f.addTree(dir)
	}
	for kind := range f {
		slices.Sort(f[kind])
		f[kind] = slices.Compact(f[kind])
	}
	return f
}

func (f footprint) add(kind, what string) { f[kind] = append(f[kind], what) }

// addLines counts the lines of a table that have an identity of their own.
func (f footprint) addLines(t *testing.T, kind, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case kind == "mount":
			f.add(kind, fields[4])
		case kind == "unix socket" && len(fields) == 8:
			f.add(kind, fields[7])
		case kind == "TCP socket" && fields[3] == "0A": // listening
			f.add(kind, fields[1])
		case kind == "named network":
			f.add(kind, fields[0])
		}
	}
}

// addTree counts cgroups, or the entries of a folder; of the system's own
// folders those near the top, where what a run leaves would begin.
func (f footprint) addTree(dir string) {
	const deep = 100
	kind, depth := "file", deep
	switch dir {
	case "/sys/fs/cgroup":
		kind = "cgroup"
	case "/run", "/var/lib":
		depth = strings.Count(dir, "/") + 1
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir // gone while we looked
		}
		if kind == "cgroup" && d.IsDir() || kind == "file" && path != dir {
			f.add(kind, path)
		}
		if d.IsDir() && strings.Count(path, "/") >= depth {
			return fs.SkipDir
		}
		return nil
	})
}

// left returns what is in now and wasn't before.
func (f footprint) left(now footprint) []string {
	var left []string
	for kind, entries := range now {
		for _, e := range entries {
			if _, known := slices.BinarySearch(f[kind], e); !known {
				left = append(left, kind+" "+e)
			}
		}
	}
	slices.Sort(left)
	return left
}

// settles fails the test unless nothing of ours is left within some seconds.
// What others on the machine do in that time comes and goes; a leak stays.
func (f footprint) settles(t *testing.T, dirs ...string) {
	t.Helper()
	left := f.left(measure(t, dirs...))
	for end := time.Now().Add(10 * time.Second); len(left) > 0 && time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		left = common(left, f.left(measure(t, dirs...)))
	}
	if len(left) > 0 {
		t.Errorf("left behind:\n%s", clip(strings.Join(left, "\n")))
	}
}

func common(a, b []string) []string {
	return slices.DeleteFunc(a, func(s string) bool { _, in := slices.BinarySearch(b, s); return !in })
}

func (f footprint) String() string {
	var b strings.Builder
	for kind, entries := range f {
		fmt.Fprintf(&b, "%s: %d\n", kind, len(entries))
	}
	return b.String()
}
