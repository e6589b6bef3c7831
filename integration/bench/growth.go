package main

import (
	"context"
	"fmt"
	"io"

	"github.com/sallyport/sallyport/integration/bench/load"
	"github.com/sallyport/sallyport/integration/bench/peer"
)

// grow shows what a request costs as there is more of everything, and what
// being observed costs.
func grow(ctx context.Context, s settings, w *peer.World, out io.Writer) error {
	keepAlive := load.Scenario{Name: "growth", Kind: load.KeepAlive, Workers: 8}
	var sizes []sized
	for _, o := range []peer.EdgeOptions{
		{Name: "1 boundary, 1 rule", Rules: 1, Boundaries: 1},
		{Name: "200 rules", Rules: 200, Boundaries: 1},
		{Name: "100 boundaries", Rules: 200, Boundaries: 100},
		{Name: "5,000 boundaries", Rules: 200, Boundaries: 5000},
	} {
		t, err := w.Edge(o)
		if err != nil {
			return err
		}
		sizes = append(sizes, sized{t, keepAlive})
	}
	t, err := w.Edge(peer.EdgeOptions{Name: "10,000 hosts", Rules: 200, Boundaries: 1, Hosts: 10_000})
	if err != nil {
		return err
	}
	// Every name has been seen once before the requests that count.
	warm := load.Scenario{Kind: load.Fresh, Workers: 8, Hosts: 10_000}
	if r := t.Run(warm, load.Bounds{Operations: 10_000}); r.Err != nil {
		return r.Err
	}
	sizes = append(sizes, sized{t, keepAlive})
	for _, observed := range []bool{false, true} {
		t, err := w.Engine(observed)
		if err != nil {
			return err
		}
		sizes = append(sizes, sized{t, keepAlive})
	}
	return printGrowth(ctx, s, out, sizes)
}

// sized is an edge of one size.
type sized struct {
	target *load.Target
	load.Scenario
}

func printGrowth(ctx context.Context, s settings, out io.Writer, sizes []sized) error {
	cost := make([][]float64, len(sizes))
	for round := range s.rounds {
		for i := range sizes {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			at := (i + round) % len(sizes)
			r := sizes[at].target.Run(sizes[at].Scenario, s.bounds)
			if r.Err != nil {
				return fmt.Errorf("%s: %w", sizes[at].target.Name, r.Err)
			}
			cost[at] = append(cost[at], micros(r.CPU))
		}
	}
	fmt.Fprint(out, "\n| growth, keep-alive with 8 workers | CPU µs/op | range |\n|---|--:|--:|\n")
	for i, one := range sizes {
		m, low, high := spread(cost[i])
		fmt.Fprintf(out, "| %s | %.1f | %.1f to %.1f |\n", one.target.Name, m, low, high)
	}
	return nil
}
