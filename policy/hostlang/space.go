package hostlang

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/policy"
)

// ErrTooComplex means that a question needs more work than a Space spends on
// one. It takes dozens of rules with several wildcards in one label each.
var ErrTooComplex = errors.New("the wildcards of these rules combine in too many ways")

// ErrUndecided means that only hosts with internationalised labels could be
// the answer, and that no sample of them is.
var ErrUndecided = errors.New(`only names with labels that begin with "xn--" could differ`)

// Space holds documents whose decisions are compared on all hosts. It is
// immutable and safe for concurrent use.
type Space struct {
	docs      []policy.Document
	policies  []*policy.Policy
	trie      trie
	addresses []policy.Host // that rules name
	unnamed   policy.Host   // one that no rule names
	inside    bool          // some label has a wildcard beside other characters
}

// Outcome is a combination of deciding rules that some host has.
type Outcome struct {
	Host  policy.Host // a shortest one
	Rules []int       // by document; policy.DefaultRule where none decides
}

// New prepares the questions about documents. The error is that of
// [policy.Compile].
func New(docs ...policy.Document) (*Space, error) {
	return new(Space).With(docs...)
}

// With returns a Space that holds more documents, after those of s. It costs
// less than to make another one.
func (s *Space) With(docs ...policy.Document) (*Space, error) {
	more := &Space{
		docs:      slices.Concat(s.docs, docs),
		policies:  slices.Clone(s.policies),
		trie:      s.trie.clone(),
		addresses: slices.Clone(s.addresses),
		inside:    s.inside,
	}
	for _, doc := range docs {
		more.trie.addList()
		p, err := policy.Compile(doc)
		if err != nil {
			return nil, err
		}
		more.policies = append(more.policies, p)
		for rule, r := range doc.Rules {
			patterns, err := policy.Patterns(r.HostGlob)
			if err != nil {
				return nil, err
			}
			for _, pat := range patterns {
				more.add(rule, pat)
			}
		}
	}
	more.unnamed = more.freshAddress()
	return more, nil
}

// add files a pattern of the last document.
func (s *Space) add(rule int, p policy.Pattern) {
	if p.Host.IP().IsValid() {
		if !slices.Contains(s.addresses, p.Host) {
			s.addresses = append(s.addresses, p.Host)
		}
		return
	}
	for _, l := range p.Labels {
		if l.Text != "*" && strings.ContainsAny(l.Text, "*?[") {
			s.inside = true
		}
	}
	s.trie.add(int32(rule), chain(p)) // at most 200 rules
}

// freshAddress returns an address that no rule names.
func (s *Space) freshAddress() policy.Host {
	for ip := netip.AddrFrom4([4]byte{192, 0, 2, 1}); ; ip = ip.Next() {
		h, err := policy.CanonicalHost(ip.String())
		if err == nil && !slices.Contains(s.addresses, h) {
			return h
		}
	}
}

// Want says which deciding rules of one document a question is about; the rule
// is policy.DefaultRule where none decides. A nil Want takes all.
type Want func(rule int) bool

// Rule wants one deciding rule.
func Rule(want int) Want { return func(rule int) bool { return rule == want } }

// Verdict wants every rule of a document that has the given action.
func (s *Space) Verdict(list int, action policy.Action) Want {
	return func(rule int) bool { return s.Action(list, rule) == action }
}

// Action is what a document does with a host that the given rule decides.
func (s *Space) Action(list, rule int) policy.Action {
	doc := &s.docs[list]
	switch {
	case rule >= 0:
		return doc.Rules[rule].Action
	case doc.Unrestricted:
		return policy.Allow
	}
	return policy.Deny
}

// Find returns a shortest name, or failing that an address, that each document
// decides with a rule that the Want in its place takes. Found is false if
// there is no such host at all. The error is [ErrTooComplex] or
// [ErrUndecided].
func (s *Space) Find(wants ...Want) (h policy.Host, found bool, err error) {
	take := func(rules []int) bool {
		for list, want := range wants {
			if want != nil && !want(rules[list]) {
				return false
			}
		}
		return true
	}
	names, err := s.names(barred, wants)
	if err != nil || len(names) > 0 {
		return first(names), err == nil, err
	}
	for _, h := range s.everyAddress() {
		if take(s.decide(h)) {
			return h, true, nil
		}
	}
	if !s.inside {
		return policy.Host{}, false, nil
	}
	if names, err = s.names(free, wants); err != nil || len(names) == 0 {
		return policy.Host{}, false, err
	}
	names, err = s.names(sampled, wants)
	if err == nil && len(names) == 0 {
		err = ErrUndecided
	}
	return first(names), err == nil, err
}

func first(outcomes []Outcome) policy.Host {
	if len(outcomes) == 0 {
		return policy.Host{}
	}
	return outcomes[0].Host
}

// Outcomes lists every combination of deciding rules that some host has, each
// once, the shortest hosts first. Those that only names with "xn--" labels
// could have that are neither spelt by a rule nor among the samples are listed
// as open, without a host: there may be one. The error is [ErrTooComplex].
func (s *Space) Outcomes() (met, open []Outcome, err error) {
	if met, err = s.names(barred, nil); err != nil {
		return nil, nil, err
	}
	if s.inside {
		more, err := s.names(sampled, nil)
		if err != nil {
			return nil, nil, err
		}
		met = append(met, more...)
	}
	for _, h := range s.everyAddress() {
		met = append(met, Outcome{Host: h, Rules: s.decide(h)})
	}
	seen := map[string]bool{}
	known := func(o Outcome) bool {
		key := fmt.Sprint(o.Rules)
		again := seen[key]
		seen[key] = true
		return again
	}
	met = slices.DeleteFunc(met, known)
	if s.inside {
		if open, err = s.names(free, nil); err != nil {
			return nil, nil, err
		}
		open = slices.DeleteFunc(open, known)
	}
	return met, open, nil
}

// everyAddress returns an address for each way to decide on one.
func (s *Space) everyAddress() []policy.Host {
	return append(slices.Clip(s.addresses), s.unnamed)
}

// decide asks the enforcing code.
func (s *Space) decide(h policy.Host) []int {
	rules := make([]int, len(s.policies))
	for i, p := range s.policies {
		rules[i] = p.Decide(h).Rule
	}
	return rules
}

// names walks all names and returns the outcomes that were met: every one if
// wants is nil, otherwise one that they take. Each is what Decide says, but in
// the mode free, which knows no hosts.
func (s *Space) names(mode labelMode, wants []Want) ([]Outcome, error) {
	w := newWalk(s, mode, wants)
	met, err := w.run()
	if err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, 0, len(met))
	for _, m := range met {
		if mode == free {
			outcomes = append(outcomes, Outcome{Rules: w.rules(m)})
			continue
		}
		h, err := policy.CanonicalHost(m.name)
		if err != nil {
			return nil, fmt.Errorf("confirm witness: %w", err)
		}
		rules := s.decide(h)
		if !w.takes(m, rules) {
			return nil, fmt.Errorf("confirm witness: %s is decided by rules %v", h, rules)
		}
		outcomes = append(outcomes, Outcome{Host: h, Rules: rules})
	}
	return outcomes, nil
}
