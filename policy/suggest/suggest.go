// Package suggest makes a policy from recorded crossings: one rule for each
// host that was used.
//
// It widens nothing by itself. Hosts are put together under a wildcard only if
// the caller asks for it, and never under a public suffix. The package opens
// no files.
package suggest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/recorded"
)

// ErrTooMany means that there are more hosts than a policy has rules or than
// are told apart; generalising makes them fewer.
var ErrTooMany = errors.New("too many hosts for one policy")

// maxHosts bounds what is told apart.
const maxHosts = 1 << 17

// Options say what to suggest. The zero value takes the hosts that were used,
// each by its name.
type Options struct {
	// Refused takes the hosts that were refused by the policy, too.
	Refused bool
	// Generalise puts the names directly under one name together as soon as
	// there are that many; 0 means never.
	Generalise int
	// PublicSuffix is as for lint; it is required with Generalise.
	PublicSuffix func(name string) bool
	// Allowed is a policy to add to: hosts that it allows need no rule. Nil
	// allows none.
	Allowed *policy.Policy
}

// Suggestion is one rule and the crossings that it is for.
type Suggestion struct {
	Glob      string
	Hosts     int
	Crossings int64
}

// Collector adds up the hosts of logs. It is not safe for concurrent use.
type Collector struct {
	options Options
	hosts   map[string]int64 // crossings by canonical host
	counts  recorded.Counts
	over    bool
}

// New returns an empty Collector.
func New(o Options) *Collector {
	return &Collector{options: o, hosts: map[string]int64{}}
}

// Read adds one log. The error is that of the reader.
func (c *Collector) Read(log io.Reader) error {
	counts, err := recorded.Scan(log, c.see)
	c.counts.Bytes += counts.Bytes
	c.counts.Lines += counts.Lines
	c.counts.Malformed += counts.Malformed
	return err
}

// Counts say how much was read so far.
func (c *Collector) Counts() recorded.Counts { return c.counts }

func (c *Collector) see(r *recorded.Crossing) {
	action, known := r.Policy()
	used := action == policy.Allow || string(r.Verdict) == recorded.VerdictObserve
	if !known || !used && !c.options.Refused {
		return
	}
	n, ok := c.hosts[string(r.Host)]
	if !ok && len(c.hosts) == maxHosts {
		c.over = true
		return
	}
	c.hosts[string(r.Host)] = n + 1
}

// Suggestions returns the rules that are missing, by glob. The error is
// [ErrTooMany].
func (c *Collector) Suggestions() ([]Suggestion, error) {
	by := map[string]*Suggestion{}
	for name, crossings := range c.hosts {
		h, err := policy.CanonicalHost(name)
		if err != nil || c.options.Allowed.Decide(h).Action == policy.Allow {
			continue
		}
		by[h.String()] = &Suggestion{Glob: h.String(), Hosts: 1, Crossings: crossings}
	}
	if c.options.Generalise > 0 {
		c.generalise(by)
	}
	if c.over || len(by) > policy.MaxRules {
		return nil, fmt.Errorf("suggest rules: %w: %d rules", ErrTooMany, len(by))
	}
	all := make([]Suggestion, 0, len(by))
	for _, glob := range slices.Sorted(maps.Keys(by)) {
		all = append(all, *by[glob])
	}
	return all, nil
}

// generalise puts names under the same parent together.
func (c *Collector) generalise(by map[string]*Suggestion) {
	siblings := map[string][]string{}
	for name := range by {
		parent := parentOf(name)
		if h, err := policy.CanonicalHost(parent); parent != "" && err == nil && !h.IP().IsValid() {
			siblings[parent] = append(siblings[parent], name)
		}
	}
	// The shortest first: what is under them is theirs as well.
	parents := slices.SortedFunc(maps.Keys(siblings), func(a, b string) int { return len(a) - len(b) })
	for _, parent := range parents {
		if len(siblings[parent]) < c.options.Generalise || c.options.PublicSuffix == nil || c.options.PublicSuffix(parent) {
			continue
		}
		wide := &Suggestion{Glob: "*." + parent}
		for name, s := range by {
			if strings.HasSuffix(name, "."+parent) {
				wide.Hosts += s.Hosts
				wide.Crossings += s.Crossings
				delete(by, name)
			}
		}
		if wide.Hosts > 0 {
			by[wide.Glob] = wide
		}
	}
}

// parentOf returns the name that a name is directly under; "" for addresses
// and single labels.
func parentOf(name string) string {
	if h, err := policy.CanonicalHost(name); err != nil || h.IP().IsValid() {
		return ""
	}
	_, parent, _ := strings.Cut(name, ".")
	return parent
}

// Document is a policy of suggestions alone.
func Document(suggestions []Suggestion) policy.Document {
	var doc policy.Document
	for _, s := range suggestions {
		doc.Rules = append(doc.Rules, policy.Rule{HostGlob: s.Glob, Action: policy.Allow})
	}
	return doc
}
