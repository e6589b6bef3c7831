package load

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// usage is what a process and all below it have used.
type usage struct {
	cpu time.Duration
	kib int64 // resident
}

// tick is the unit of times in /proc/PID/stat: USER_HZ, 100 on every Linux.
const tick = 10 * time.Millisecond

// use reads /proc (proc(5)). A process that has gone counts nothing.
func use(pid int) usage {
	if pid == 0 {
		return usage{}
	}
	var u usage
	for _, p := range tree(pid) {
		fields := stat(p)
		if len(fields) < 22 {
			continue
		}
		// Counted from the third field on, the state.
		user, _ := strconv.ParseInt(fields[11], 10, 64)
		system, _ := strconv.ParseInt(fields[12], 10, 64)
		pages, _ := strconv.ParseInt(fields[21], 10, 64)
		u.cpu += time.Duration(user+system) * tick
		u.kib += pages * int64(os.Getpagesize()) / 1024
	}
	return u
}

// stat returns the fields of /proc/PID/stat after the name, which may hold
// spaces.
func stat(pid int) []string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.Fields(rest)
}

// tree returns pid and its descendants: some proxies have helpers.
func tree(pid int) []int {
	all := []int{pid}
	tasks, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	for _, task := range tasks {
		b, err := os.ReadFile(task)
		if err != nil {
			continue
		}
		for _, child := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(child); err == nil {
				all = append(all, tree(n)...)
			}
		}
	}
	return all
}
