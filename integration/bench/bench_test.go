package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sallyport/sallyport/integration/bench/load"
	"github.com/sallyport/sallyport/integration/bench/peer"
)

// The test binary is also the origin and the peers, as the command is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == peer.SelfCommand {
		if err := peer.ServeSelf(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// world starts an origin; the edge is built as make build does.
func world(t *testing.T) *peer.World {
	t.Helper()
	program := filepath.Join(t.TempDir(), "edge")
	build := exec.Command("go", "build", "-o", program, "../../cmd/edge")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the edge: %v: %s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w, err := peer.New(peer.Options{Self: []string{self, peer.SelfCommand}, Edge: program})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// Every scenario works through every proxy that needs nothing installed, and
// what the edge costs stays within a wide bound of what others cost. The bound
// is on processor time per request, as a ratio, and on the best of several
// rounds: it is no measure of the edge, but finds what makes it several times
// more expensive.
func TestRatiosStayInBounds(t *testing.T) {
	w := world(t)
	blind, err := w.Blind()
	if err != nil {
		t.Fatal(err)
	}
	goproxy, err := w.Goproxy()
	if err != nil {
		t.Fatal(err)
	}
	ours, err := w.Edge(peer.EdgeOptions{Name: "edge", Rules: 200, Boundaries: 1, Spliced: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		load.Scenario
		ops     int64
		against *load.Target
		bound   float64
	}{
		{load.Scenario{Name: "keep-alive", Kind: load.KeepAlive, Workers: 8}, 600, goproxy, 5},
		{load.Scenario{Name: "tunnel", Kind: load.Fresh, Workers: 4}, 60, goproxy, 4},
		{load.Scenario{Name: "bulk down", Kind: load.Down, Workers: 2, MiB: 8, Host: peer.SplicedHost}, 60, blind, 6},
		{load.Scenario{Name: "http2", Kind: load.Streams, Workers: 1, Streams: 20}, 200, nil, 0},
		{load.Scenario{Name: "bulk up", Kind: load.Up, Workers: 1, MiB: 4}, 4, nil, 0},
		{load.Scenario{Name: "plain", Kind: load.Plain, Workers: 4}, 50, nil, 0},
	} {
		bounds := load.Bounds{Operations: c.ops}
		best := 0.0
		for range 3 {
			mine := must(t, ours, c.Scenario, bounds)
			if c.against == nil {
				break
			}
			theirs := must(t, c.against, c.Scenario, bounds)
			if ratio := float64(mine.CPU) / float64(max(theirs.CPU, time.Microsecond)); best == 0 || ratio < best {
				best = ratio
			}
			if best <= c.bound {
				break
			}
		}
		t.Logf("%s: %.2f", c.Name, best)
		if best > c.bound {
			t.Errorf("%s: %.1f times the processor time of %s, and should never be more than %.0f", c.Name, best, c.against.Name, c.bound)
		}
	}
}

func must(t *testing.T, target *load.Target, s load.Scenario, b load.Bounds) load.Result {
	t.Helper()
	r := target.Run(s, b)
	if r.Err != nil {
		t.Fatalf("%s through %s: %d errors, the first: %v", s.Name, target.Name, r.Errors, r.Err)
	}
	return r
}
