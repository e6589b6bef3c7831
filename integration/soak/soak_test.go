// Package soak_test holds the edge, as a process, under what takes time or
// numbers: large bodies, crowds of tunnels, long streams, and everything around
// it dying. Each test has a short form, which is part of the suite, and its
// full length with SALLYPORT_SOAK=1 (make soak).
package soak_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// full says that the tests run at full length.
var full = os.Getenv("SALLYPORT_SOAK") == "1"

// atLength returns short or, at full length, long.
func atLength[T any](short, long T) T {
	if full {
		return long
	}
	return short
}

// program is the built edge.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sallyport-soak-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "edge")
	build := exec.Command("go", "build", "-o", program, "../../cmd/edge")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build edge: %v: %s\n", err, out)
		return 1
	}
	return m.Run()
}
