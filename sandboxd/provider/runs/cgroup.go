package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// defaultProcesses limits a sandbox whose Spec doesn't.
const defaultProcesses = 4096

// cpuPeriod is the time over which CPU time is measured, in microseconds.
const cpuPeriod = 100000

// cgroup is a sandbox's cgroup in every hierarchy. The zero value is one that
// limits nothing.
type cgroup struct {
	v1      []string // to be joined by process id
	unified *os.File // v2, to be born into; nil when there is none
	memory  string   // the directory that counts out-of-memory kills; empty when none does
}

// setting is a file to write in the cgroup that has it.
type setting struct {
	controller, v1, v2, value, value2 string
	optional                          bool
}

func settings(l Limits) []setting {
	pids := setting{controller: "pids", v1: "pids.max", v2: "pids.max", value: strconv.FormatInt(l.Processes, 10)}
	if l.Processes == 0 {
		pids.value, pids.optional = strconv.Itoa(defaultProcesses), true
	}
	all := []setting{pids}
	if l.MemoryBytes > 0 {
		bytes := strconv.FormatInt(l.MemoryBytes, 10)
		all = append(all,
			setting{controller: "memory", v1: "memory.limit_in_bytes", v2: "memory.max", value: bytes},
			// No more by way of swap; absent where swap isn't accounted for.
			setting{controller: "memory", v1: "memory.memsw.limit_in_bytes", v2: "memory.swap.max", value: bytes, value2: "0", optional: true})
	}
	if l.CPUs > 0 {
		quota := strconv.FormatInt(max(1000, int64(l.CPUs*cpuPeriod)), 10)
		all = append(all, setting{controller: "cpu", v1: "cpu.cfs_quota_us", v2: "cpu.max",
			value: quota, value2: fmt.Sprintf("%s %d", quota, cpuPeriod)})
	}
	return all
}

// newCgroup makes the cgroups that the limits need, and sets them. When an
// error is returned nothing is left.
func (h hierarchies) newCgroup(name string, l Limits) (*cgroup, error) {
	const attempts = 5 // another provider may remove the parent, when it is empty, at any moment
	for i := 1; ; i++ {
		c, err := h.tryCgroup(name, settings(l))
		if err == nil || i == attempts || !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
	}
}

func (h hierarchies) tryCgroup(name string, settings []setting) (_ *cgroup, err error) {
	c := &cgroup{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close(), h.removeCgroup(context.Background(), name))
		}
	}()
	if err := h.delegate(); err != nil {
		return c, err
	}
	if h.unified != "" {
		dir := filepath.Join(parent(h.unified), name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return c, fmt.Errorf("make cgroup: %w", err)
		}
		if c.unified, err = os.Open(dir); err != nil {
			return c, err
		}
		c.memory = dir
	}
	for _, s := range settings {
		// Joining a hierarchy of v1 is what takes the time: only where needed.
		if m := h.v1[s.controller]; m != "" {
			dir := filepath.Join(parent(m), name)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return c, fmt.Errorf("make cgroup: %w", err)
			}
			if !slices.Contains(c.v1, dir) {
				c.v1 = append(c.v1, dir)
			}
			if s.controller == "memory" {
				c.memory = dir
			}
		}
		if err := h.set(name, s); err != nil && !s.optional {
			return c, err
		}
	}
	return c, nil
}

func (h hierarchies) set(name string, s setting) error {
	dir, file, value := "", s.v1, s.value
	if m := h.v1[s.controller]; m != "" {
		dir = filepath.Join(parent(m), name)
	} else if h.unified != "" {
		dir, file = filepath.Join(parent(h.unified), name), s.v2
		if s.value2 != "" {
			value = s.value2
		}
	} else {
		return fmt.Errorf("limit %s: no cgroup controller", s.controller)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0); err != nil {
		return fmt.Errorf("limit %s: %w", s.controller, err)
	}
	return nil
}

// unwritable says whether an error means that cgroups aren't the caller's to
// make.
func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) || errors.Is(err, unix.EBUSY)
}

// join puts a process into the hierarchies that it wasn't born into.
func (c *cgroup) join(pid int) error {
	for _, dir := range c.v1 {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("join cgroup: %w", err)
		}
	}
	return nil
}

// outOfMemory returns how many processes the memory limit has killed.
func (c *cgroup) outOfMemory() int {
	if c == nil || c.memory == "" {
		return 0
	}
	for _, name := range []string{"memory.events", "memory.oom_control"} {
		b, err := os.ReadFile(filepath.Join(c.memory, name))
		if err != nil {
			continue
		}
		for line := range bytes.Lines(b) {
			if n, ok := strings.CutPrefix(string(line), "oom_kill "); ok {
				v, _ := strconv.Atoi(strings.TrimSpace(n))
				return v
			}
		}
	}
	return 0
}

func (c *cgroup) close() error {
	if c == nil || c.unified == nil {
		return nil
	}
	return c.unified.Close()
}

// removeCgroup kills what is left in the cgroups of a sandbox, and removes them.
func (h hierarchies) removeCgroup(ctx context.Context, name string) error {
	var errs []error
	for _, dir := range h.all() {
		if err := removeDir(ctx, filepath.Join(dir, name)); err != nil {
			errs = append(errs, fmt.Errorf("remove cgroup: %w", err))
		}
		// The last one out removes what all of them share.
		_ = os.Remove(dir)
	}
	return errors.Join(errs...)
}

func removeDir(ctx context.Context, dir string) error {
	for {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
		if err := killAll(dir); err != nil {
			return err
		}
		if err := waitEmpty(ctx, dir); err != nil {
			return err
		}
	}
}
