// Package replay holds recorded crossings against another policy: which of
// them would have had another verdict.
//
// A [Replay] takes any number of logs and adds up what it saw. Its memory is
// bounded whatever the logs hold: the hosts, boundaries and rules that are
// told apart are limited, and what is beyond that is counted together. The
// package opens no files.
package replay

import (
	"cmp"
	"io"
	"maps"
	"slices"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/recorded"
)

// Limits of what is told apart.
const (
	maxHosts     = 1 << 17 // decisions kept, and hosts that flip
	maxSandboxes = 1 << 16
)

// Flip counts crossings whose verdict changes. Closed are those that would be
// denied from now on, Opened those that would be allowed.
type Flip struct {
	Opened, Closed int64
}

// HostFlip are the flips of one host.
type HostFlip struct {
	Host string
	Flip
	Decision policy.Decision // of the candidate
}

// RuleFlip are the flips that one rule of the candidate makes; Rule is
// policy.DefaultRule for those that no rule decides.
type RuleFlip struct {
	Rule int
	Glob string
	Flip
}

// SandboxFlip are the flips of one boundary.
type SandboxFlip struct {
	Boundary string
	Flip
}

// Report is what a Replay saw, most flips first.
type Report struct {
	recorded.Counts
	// Decided are the crossings whose recorded policy verdict is known.
	Decided   int64
	Total     Flip
	Hosts     []HostFlip
	Rules     []RuleFlip
	Sandboxes []SandboxFlip
	// OtherHosts and OtherSandboxes are flips beyond those told apart.
	OtherHosts, OtherSandboxes Flip
}

// Replay is one candidate and what was seen so far. It is not safe for
// concurrent use.
type Replay struct {
	candidate *policy.Policy
	report    Report
	decisions map[string]*verdict
	hosts     map[string]*verdict // of those decisions that flipped
	rules     map[int]*RuleFlip
	sandboxes map[string]*Flip
}

// verdict is the candidate's word on one host.
type verdict struct {
	decision policy.Decision
	flips    *Flip // nil until the first one
	rule     *RuleFlip
}

// New returns a Replay against candidate.
func New(candidate *policy.Policy) *Replay {
	return &Replay{
		candidate: candidate,
		decisions: map[string]*verdict{},
		hosts:     map[string]*verdict{},
		rules:     map[int]*RuleFlip{},
		sandboxes: map[string]*Flip{},
	}
}

// Read adds one log. The error is that of the reader; what came before it
// counts.
func (r *Replay) Read(log io.Reader) error {
	counts, err := recorded.Scan(log, r.see)
	r.report.Bytes += counts.Bytes
	r.report.Lines += counts.Lines
	r.report.Malformed += counts.Malformed
	return err
}

func (r *Replay) see(c *recorded.Crossing) {
	was, known := c.Policy()
	if !known {
		return
	}
	r.report.Decided++
	v := r.decide(c.Host)
	if v.decision.Action == was {
		return
	}
	opened := v.decision.Action == policy.Allow
	r.report.Total.add(opened)
	r.hostFlip(c.Host, v).add(opened)
	r.ruleFlip(v).add(opened)
	r.sandboxFlip(c.Boundary).add(opened)
}

func (f *Flip) add(opened bool) {
	if opened {
		f.Opened++
	} else {
		f.Closed++
	}
}

// decide returns the candidate's word, which is worked out once for a host.
func (r *Replay) decide(host []byte) *verdict {
	if v, ok := r.decisions[string(host)]; ok {
		return v
	}
	if len(r.decisions) == maxHosts {
		clear(r.decisions)
	}
	name := string(host)
	v, ok := r.hosts[name]
	if !ok {
		// A malformed host leaves the zero Host, which is denied.
		h, _ := policy.CanonicalHost(name)
		v = &verdict{decision: r.candidate.Decide(h)}
	}
	r.decisions[name] = v
	return v
}

func (r *Replay) hostFlip(host []byte, v *verdict) *Flip {
	if v.flips == nil {
		if len(r.hosts) == maxHosts {
			return &r.report.OtherHosts
		}
		v.flips = &Flip{}
		r.hosts[string(host)] = v
	}
	return v.flips
}

func (r *Replay) ruleFlip(v *verdict) *Flip {
	if v.rule == nil {
		rule := v.decision.Rule
		if v.rule = r.rules[rule]; v.rule == nil {
			v.rule = &RuleFlip{Rule: rule, Glob: v.decision.Glob}
			r.rules[rule] = v.rule
		}
	}
	return &v.rule.Flip
}

func (r *Replay) sandboxFlip(boundary []byte) *Flip {
	f, ok := r.sandboxes[string(boundary)]
	if !ok {
		if len(r.sandboxes) == maxSandboxes {
			return &r.report.OtherSandboxes
		}
		f = &Flip{}
		r.sandboxes[string(boundary)] = f
	}
	return f
}

// Report returns what was seen so far.
func (r *Replay) Report() Report {
	report := r.report
	for host, v := range r.hosts {
		report.Hosts = append(report.Hosts, HostFlip{host, *v.flips, v.decision})
	}
	for _, rule := range slices.Sorted(maps.Keys(r.rules)) {
		report.Rules = append(report.Rules, *r.rules[rule])
	}
	for boundary, f := range r.sandboxes {
		report.Sandboxes = append(report.Sandboxes, SandboxFlip{boundary, *f})
	}
	slices.SortFunc(report.Hosts, func(a, b HostFlip) int { return cmp.Or(a.compare(b.Flip), cmp.Compare(a.Host, b.Host)) })
	slices.SortStableFunc(report.Rules, func(a, b RuleFlip) int { return a.compare(b.Flip) })
	slices.SortFunc(report.Sandboxes, func(a, b SandboxFlip) int {
		return cmp.Or(a.compare(b.Flip), cmp.Compare(a.Boundary, b.Boundary))
	})
	return report
}

// compare sorts by the number of flips, the most first.
func (f Flip) compare(o Flip) int { return cmp.Compare(o.Opened+o.Closed, f.Opened+f.Closed) }
