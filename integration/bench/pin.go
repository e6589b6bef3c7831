package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// leaveFirst leaves the first processor to the proxies: every thread of this
// process moves to the others, and threads to come inherit that.
func leaveFirst() error {
	var set unix.CPUSet
	for cpu := 1; cpu < runtime.NumCPU(); cpu++ {
		set.Set(cpu)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(id, &set); err != nil {
			return fmt.Errorf("leave the first processor: %w", err)
		}
	}
	runtime.GOMAXPROCS(set.Count())
	return nil
}
