package main

import (
	"fmt"
	"io"

	"github.com/sallyport/sallyport/integration/bench/load"
)

// ratio is one thing the edge is to reach, against another peer in the same
// round.
type ratio struct {
	what     string
	scenario string
	of       func(load.Result) float64
	against  string // a peer; the edge itself in another scenario if other is set
	other    string
	base     string // a peer whose figure is taken off both sides first
	atLeast  float64
	atMost   float64
}

var ratios = []ratio{
	{what: "keep-alive, 32 workers: rate / squid", scenario: "keep-alive-32", of: rate, against: "squid", atLeast: 2.5},
	{what: "keep-alive, 32 workers: CPU / blind tunnel", scenario: "keep-alive-32", of: cpu, against: "blind", atMost: 1.35},
	{what: "keep-alive, 32 workers: rate / goproxy", scenario: "keep-alive-32", of: rate, against: "goproxy", atLeast: 1.4},
	{what: "keep-alive, 32 workers: CPU / goproxy", scenario: "keep-alive-32", of: cpu, against: "goproxy"},
	{what: "keep-alive, 32 workers: CPU / squid", scenario: "keep-alive-32", of: cpu, against: "squid"},
	{what: "one worker: p50 added to blind / squid's", scenario: "keep-alive-1", of: p50, against: "squid", base: "blind", atMost: .35},
	{what: "new tunnel: rate / squid", scenario: "tunnel-full", of: rate, against: "squid", atLeast: 3.5},
	{what: "new tunnel: CPU / goproxy", scenario: "tunnel-full", of: cpu, against: "goproxy", atMost: .95},
	{what: "HTTP/2: rate / mitmproxy", scenario: "http2", of: rate, against: "mitmproxy", atLeast: 15},
	{what: "HTTP/2: CPU / blind tunnel", scenario: "http2", of: cpu, against: "blind", atMost: 2},
	{what: "bulk down: rate / goproxy", scenario: "bulk-down", of: rate, against: "goproxy", atLeast: 1},
	{what: "bulk up: rate / goproxy", scenario: "bulk-up", of: rate, against: "goproxy", atLeast: 1},
	{what: "bulk: CPU spliced / intercepted", scenario: "bulk-spliced", of: cpu, against: "edge", other: "bulk-down", atMost: .65},
	{what: "plain: rate / squid", scenario: "plain", of: rate, against: "squid", atLeast: 1},
}

// targets writes how the edge stands to each target, as the median over rounds
// with the least and the greatest.
func (t *table) targets(out io.Writer) {
	fmt.Fprint(out, "\n| the edge against | target | measured | range |\n|---|--:|--:|--:|\n")
	for _, r := range ratios {
		m, low, high := spread(t.over(r))
		if m == 0 {
			continue
		}
		goal := "-"
		switch {
		case r.atLeast > 0:
			goal = fmt.Sprintf("≥ %.2f", r.atLeast)
		case r.atMost > 0:
			goal = fmt.Sprintf("≤ %.2f", r.atMost)
		}
		fmt.Fprintf(out, "| %s | %s | %.2f | %.2f to %.2f |\n", r.what, goal, m, low, high)
	}
}

// over returns a ratio of each round.
func (t *table) over(r ratio) []float64 {
	mine, other := t.results[r.scenario]["edge"], r.scenario
	if r.other != "" {
		other = r.other
	}
	theirs, base := t.results[other][r.against], t.results[r.scenario][r.base]
	var all []float64
	for i := range min(len(mine), len(theirs)) {
		a, b := r.of(mine[i]), r.of(theirs[i])
		if r.base != "" {
			if i >= len(base) {
				break
			}
			a, b = a-r.of(base[i]), b-r.of(base[i])
		}
		if b > 0 {
			all = append(all, a/b)
		}
	}
	return all
}
