package policy

// Reason is the machine-readable cause of a decision.
type Reason string

// The reasons of decisions. ReasonBadHost is that of the zero [Host], and so of
// whatever [CanonicalHost] refused.
const (
	ReasonAllowed Reason = "allowed"
	ReasonDenied  Reason = "network_policy_denied"
	ReasonBadHost Reason = "bad_host"
)

// DefaultRule is the Decision.Rule of a decision that no rule made.
const DefaultRule = -1

// Decision is the answer for one host. The zero value denies.
type Decision struct {
	Action Action
	// Rule is the index of the deciding rule, or DefaultRule.
	Rule int
	// Glob is the deciding rule's glob as it was sent; empty by default.
	Glob   string
	Reason Reason
}

// Policy is a compiled document. It is immutable and safe for concurrent use.
// A nil or zero Policy denies every host.
type Policy struct {
	unrestricted bool
	rules        []Rule
	table        table
}

// Decide answers for one host: the first rule that matches it decides, and a
// host that none matches is denied. It is total, takes no lock and allocates
// nothing, and takes at most about 100 ns for 200 rules.
func (p *Policy) Decide(h Host) Decision {
	switch {
	case h.IsZero():
		return Decision{Rule: DefaultRule, Reason: ReasonBadHost}
	case p == nil:
		return Decision{Rule: DefaultRule, Reason: ReasonDenied}
	case p.unrestricted:
		return Decision{Action: Allow, Rule: DefaultRule, Reason: ReasonAllowed}
	}
	i := p.table.first(h, len(p.rules))
	if i == len(p.rules) {
		return Decision{Rule: DefaultRule, Reason: ReasonDenied}
	}
	rule := &p.rules[i]
	d := Decision{Rule: i, Glob: rule.HostGlob, Reason: ReasonDenied}
	if rule.Action == Allow {
		d.Action, d.Reason = Allow, ReasonAllowed
	}
	return d
}
