package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/sallyport/sallyport/integration/bench/load"
)

// table gathers results by scenario and peer, one for each round.
type table struct {
	results map[string]map[string][]load.Result
}

func newTable() *table { return &table{map[string]map[string][]load.Result{}} }

func (t *table) add(c contest, name string, r load.Result) {
	if t.results[c.Name] == nil {
		t.results[c.Name] = map[string][]load.Result{}
	}
	t.results[c.Name][name] = append(t.results[c.Name][name], r)
}

// print writes the rows of one contest.
func (t *table) print(out io.Writer, c contest) {
	memory := ""
	if c.Kind == load.Idle {
		memory = " KiB/tunnel |"
	}
	fmt.Fprintf(out, "\n| %s | %s | p50 µs | p99 µs | CPU µs/op |%s errors |\n|---|--:|--:|--:|--:|--:|%s\n", c.Name, c.unit, memory, when(memory != "", "--:|"))
	for _, name := range c.peers {
		rs := t.results[c.Name][name]
		if len(rs) == 0 {
			continue
		}
		var failed int64
		var why error
		for _, r := range rs {
			if failed += r.Errors; why == nil {
				why = r.Err
			}
		}
		fmt.Fprintf(out, "| %s | %.0f | %.0f | %.0f | %.1f |", name, middle(rs, rate), middle(rs, p50), middle(rs, p99), middle(rs, cpu))
		if memory != "" {
			fmt.Fprintf(out, " %.1f |", middle(rs, kib))
		}
		fmt.Fprintf(out, " %d |\n", failed)
		if why != nil {
			fmt.Fprintf(os.Stderr, "%s, %s: %v\n", c.Name, name, why)
		}
	}
}

func when(yes bool, s string) string {
	if yes {
		return s
	}
	return ""
}

// The figures of a result.
func rate(r load.Result) float64 { return r.Rate }
func p50(r load.Result) float64  { return micros(r.P50) }
func p99(r load.Result) float64  { return micros(r.P99) }
func cpu(r load.Result) float64  { return micros(r.CPU) }
func kib(r load.Result) float64  { return r.KiB }

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func middle(rs []load.Result, of func(load.Result) float64) float64 {
	v := make([]float64, 0, len(rs))
	for _, r := range rs {
		v = append(v, of(r))
	}
	m, _, _ := spread(v)
	return m
}

// spread returns the median, the least and the greatest.
func spread(v []float64) (m, low, high float64) {
	if len(v) == 0 {
		return 0, 0, 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2, v[0], v[len(v)-1]
}

// Marks of the tables in a document.
const (
	markBegin = "<!-- measured: begin -->\n"
	markEnd   = "<!-- measured: end -->\n"
)

// intoReadme replaces what is between the marks of a document.
func intoReadme(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(old, []byte(markBegin))
	_, after, ended := bytes.Cut(rest, []byte(markEnd))
	if !found || !ended {
		return fmt.Errorf("%s has no place for tables", path)
	}
	now := slices.Concat(before, []byte(markBegin), []byte(text), []byte("\n"+markEnd), after)
	return os.WriteFile(path, now, 0o644) //nolint:gosec // a document
}
