package runs

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// controllers are those that limits need.
var controllers = []string{"memory", "pids", "cpu"}

// hierarchies are the cgroup file systems of this machine: one with everything
// (v2), or that one without controllers beside one a controller (hybrid).
type hierarchies struct {
	unified string            // where v2 is mounted; empty when it isn't
	v1      map[string]string // where a controller of v1 is mounted
}

func findHierarchies() (hierarchies, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return hierarchies{}, err
	}
	defer func() { _ = f.Close() }()
	return parseHierarchies(f)
}

// parseHierarchies reads mountinfo, proc_pid_mountinfo(5): fields up to a "-",
// the fifth of which is the mount point; then type, source and options.
func parseHierarchies(r io.Reader) (hierarchies, error) {
	h := hierarchies{v1: make(map[string]string)}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		switch right[0] {
		case "cgroup2":
			h.unified = left[4]
		case "cgroup":
			for option := range strings.SplitSeq(right[2], ",") {
				if slices.Contains(controllers, option) {
					h.v1[option] = left[4]
				}
			}
		}
	}
	if err := lines.Err(); err != nil {
		return hierarchies{}, fmt.Errorf("read mountinfo: %w", err)
	}
	return h, nil
}

// parent is the directory that holds the cgroups of all sandboxes.
func parent(mountPoint string) string { return filepath.Join(mountPoint, "sallyport") }

// all returns the directories named path below each hierarchy, v2 last.
func (h hierarchies) all() []string {
	seen := make(map[string]bool)
	var dirs []string
	for _, c := range controllers {
		if m := h.v1[c]; m != "" && !seen[m] {
			seen[m] = true
			dirs = append(dirs, parent(m))
		}
	}
	if h.unified != "" {
		dirs = append(dirs, parent(h.unified))
	}
	return dirs
}

// limits says whether the caller can limit sandboxes by a controller.
func (h hierarchies) limits(controller string) bool {
	dir := h.v1[controller]
	if dir == "" {
		offered, err := os.ReadFile(filepath.Join(h.unified, "cgroup.controllers"))
		if err != nil || h.unified == "" || !slices.Contains(strings.Fields(string(offered)), controller) {
			return false
		}
		dir = h.unified
	}
	return unix.Access(dir, unix.W_OK) == nil
}

// delegate makes the controllers of v2 available to sandboxes.
func (h hierarchies) delegate() error {
	if h.unified == "" {
		return nil
	}
	for _, dir := range []string{h.unified, parent(h.unified)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		offered, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
		if err != nil {
			return err
		}
		var enable []string
		for _, c := range strings.Fields(string(offered)) {
			if slices.Contains(controllers, c) {
				enable = append(enable, "+"+c)
			}
		}
		if len(enable) == 0 {
			continue
		}
		control := filepath.Join(dir, "cgroup.subtree_control")
		if err := os.WriteFile(control, []byte(strings.Join(enable, " ")), 0); err != nil {
			return fmt.Errorf("delegate cgroup controllers: %w", err)
		}
	}
	return nil
}
