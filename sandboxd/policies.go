package sandboxd

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/diff"
	"github.com/sallyport/sallyport/policy/hostlang"
	"github.com/sallyport/sallyport/policy/lint"
	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/fault"
)

// A HostDecision is what a policy says about one host.
type HostDecision struct {
	Input    string
	Host     policy.Host // zero: Input is no host, and is denied
	Malady   string      // why Input is no host
	Decision policy.Decision
	Missed   []policy.Miss // rules that didn't match; only where it was asked for
}

// EvaluateNetworkPolicy decides on each host as the edge would.
func (s *Service) EvaluateNetworkPolicy(_ context.Context, c account.Caller, d policy.Document, hosts []string) ([]HostDecision, error) {
	if err := may(c, account.Viewer); err != nil {
		return nil, err
	}
	compiled, err := policy.Compile(d)
	if err != nil {
		return nil, invalidPolicy("network_policy", err)
	}
	decisions := make([]HostDecision, len(hosts))
	for i, input := range hosts {
		host, err := policy.CanonicalHost(input)
		decisions[i] = HostDecision{Input: input, Host: host, Decision: compiled.Decide(host)}
		if err != nil {
			decisions[i].Malady = err.Error()
		}
	}
	return decisions, nil
}

// ExplainNetworkPolicy decides on one host and says why each rule before the
// deciding one didn't.
func (s *Service) ExplainNetworkPolicy(_ context.Context, c account.Caller, d policy.Document, input string) (HostDecision, error) {
	if err := may(c, account.Viewer); err != nil {
		return HostDecision{}, err
	}
	host, hostErr := policy.CanonicalHost(input)
	e, err := policy.Explain(d, host)
	if err != nil {
		return HostDecision{}, invalidPolicy("network_policy", err)
	}
	decision := HostDecision{Input: input, Host: host, Decision: e.Decision, Missed: e.Missed}
	if hostErr != nil {
		decision.Malady = hostErr.Error()
	}
	return decision, nil
}

// LintNetworkPolicy says what is probably not meant.
func (s *Service) LintNetworkPolicy(_ context.Context, c account.Caller, d policy.Document) ([]lint.Finding, error) {
	if err := may(c, account.Viewer); err != nil {
		return nil, err
	}
	findings, err := lint.Check(d, lint.Options{PublicSuffix: isPublicSuffix})
	return findings, invalidPolicy("network_policy", err)
}

// isPublicSuffix reports whether unrelated owners register names directly under
// name. A top-level name that the list doesn't have is nobody's or private.
func isPublicSuffix(name string) bool {
	suffix, listed := publicsuffix.PublicSuffix(name)
	return suffix == name && (listed || strings.Contains(suffix, "."))
}

// DiffNetworkPolicies says which hosts become reachable and which stop when one
// policy replaces another.
func (s *Service) DiffNetworkPolicies(_ context.Context, c account.Caller, before, after policy.Document) ([]diff.Change, error) {
	if err := may(c, account.Viewer); err != nil {
		return nil, err
	}
	changes, err := diff.Compare(before, after)
	return changes, invalidPolicy("", err)
}

// CompareNetworkPolicies proves that two policies decide alike, or returns a
// host on which they don't.
func (s *Service) CompareNetworkPolicies(_ context.Context, c account.Caller, a, b policy.Document) (witness policy.Host, differ bool, err error) {
	if err := may(c, account.Viewer); err != nil {
		return policy.Host{}, false, err
	}
	witness, differ, err = diff.Difference(a, b)
	return witness, differ, invalidPolicy("", err)
}

// invalidPolicy is the refusal of a policy that the tools can't work with.
func invalidPolicy(param string, err error) error {
	var e *policy.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return fault.Invalid(param, "%s", e.Error())
	case errors.Is(err, hostlang.ErrTooComplex), errors.Is(err, hostlang.ErrUndecided):
		return fault.Invalid(param, "%s", err.Error())
	}
	return err
}
