package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/integration/bench/load"
	"github.com/sallyport/sallyport/integration/bench/peer"
)

// coldHosts is how many names "cold hosts" goes through: more than it gets to
// in a run, so that each is new to every proxy.
const coldHosts = 20_000

// contest is one scenario and who takes part in it.
type contest struct {
	load.Scenario
	peers []string
	// scale is what an operation is counted in.
	unit string
}

// contests are the rows of the table.
func contests() []contest {
	all := []string{"direct", "blind", "squid", "mitmproxy", "goproxy", "edge"}
	return []contest{
		{load.Scenario{Name: "keep-alive-1", Kind: load.KeepAlive, Workers: 1}, all, "req/s"},
		{load.Scenario{Name: "keep-alive-2", Kind: load.KeepAlive, Workers: 2}, all, "req/s"},
		{load.Scenario{Name: "keep-alive-32", Kind: load.KeepAlive, Workers: 32}, all, "req/s"},
		{load.Scenario{Name: "tunnel-full", Kind: load.Fresh, Workers: 8}, all, "tunnels/s"},
		{load.Scenario{Name: "tunnel-resumed", Kind: load.Fresh, Workers: 8, Resume: true}, all, "tunnels/s"},
		{load.Scenario{Name: "cold-hosts", Kind: load.Fresh, Workers: 8, Hosts: coldHosts}, []string{"direct", "blind", "squid", "goproxy", "edge"}, "tunnels/s"},
		{load.Scenario{Name: "http2", Kind: load.Streams, Workers: 2, Streams: 50}, []string{"direct", "blind", "mitmproxy", "edge"}, "req/s"},
		{load.Scenario{Name: "bulk-down", Kind: load.Down, Workers: 2, MiB: 64}, []string{"direct", "blind", "squid", "goproxy", "edge"}, "MiB/s"},
		{load.Scenario{Name: "bulk-up", Kind: load.Up, Workers: 2, MiB: 64}, []string{"direct", "blind", "squid", "goproxy", "edge"}, "MiB/s"},
		{load.Scenario{Name: "bulk-spliced", Kind: load.Down, Workers: 2, MiB: 64, Host: peer.SplicedHost}, []string{"blind", "edge"}, "MiB/s"},
		{load.Scenario{Name: "plain", Kind: load.Plain, Workers: 32}, []string{"direct", "squid", "mitmproxy", "goproxy", "edge"}, "req/s"},
		{load.Scenario{Name: "idle", Kind: load.Idle, Workers: 16, Tunnels: 2000}, []string{"blind", "squid", "goproxy", "edge"}, "tunnels/s"},
	}
}

// wanted reports whether a comma-separated list names one; an empty list names
// all.
func wanted(list, name string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), name)
}

// compare starts those who take part and runs every contest, one round after
// another and each round in another order.
func compare(ctx context.Context, s settings, w *peer.World, out io.Writer) error {
	targets, err := starters(s, w)
	if err != nil {
		return err
	}
	t := newTable()
	for _, c := range contests() {
		if !wanted(s.only, c.Name) {
			continue
		}
		var here []*load.Target
		for _, target := range targets {
			if slices.Contains(c.peers, target.Name) {
				here = append(here, target)
			}
		}
		rounds := s.rounds
		if c.Kind == load.Idle {
			rounds = 1 // memory that was given back once is reused
		}
		for round := range rounds {
			for i := range here {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				target := here[(i+round)%len(here)]
				t.add(c, target.Name, target.Run(c.Scenario, s.bounds))
			}
		}
		t.print(out, c)
	}
	t.targets(out)
	return nil
}

func starters(s settings, w *peer.World) ([]*load.Target, error) {
	all := []struct {
		name  string
		start func() (*load.Target, error)
	}{
		{"direct", func() (*load.Target, error) { return w.Direct(), nil }},
		{"blind", w.Blind},
		{"squid", func() (*load.Target, error) { return w.Squid(coldHosts) }},
		{"mitmproxy", w.Mitmproxy},
		{"goproxy", w.Goproxy},
		{"edge", func() (*load.Target, error) {
			return w.Edge(peer.EdgeOptions{Name: "edge", Rules: 200, Boundaries: 1, Hosts: coldHosts, Spliced: true})
		}},
	}
	var targets []*load.Target
	for _, one := range all {
		if !wanted(s.peers, one.name) {
			continue
		}
		t, err := one.start()
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", one.name, err)
		}
		targets = append(targets, t)
	}
	return targets, nil
}
