package policy

import "errors"

// Reason is the machine-readable cause of a decision.
type Reason string

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
type Policy struct{}

// Compile turns a document into a Policy. Documents from [Parse] always
// compile; others may fail with an *[Error].
func Compile(d Document) (*Policy, error) { return &Policy{}, nil }

// Decide answers for one host. It is total, allocates nothing, and takes at
// most about 100 ns for 200 rules.
func (p *Policy) Decide(h Host) Decision { return Decision{Rule: DefaultRule, Reason: ReasonDenied} }

// CanonicalHost is the one normaliser of host names, for rules and traffic
// alike: lower case, one trailing dot dropped, IDNA to A-labels, IPv6 brackets
// off. It takes a bare host, without a port. It refuses empty or over-long
// labels, '%', NUL, '@', spaces, and whatever only some parsers take for an
// address ("127.1", octal, hexadecimal, decimal). It is idempotent.
func CanonicalHost(s string) (Host, error) { return Host{}, errors.New("not implemented") }
