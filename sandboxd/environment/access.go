package environment

import "github.com/sallyport/sallyport/sandboxd/fault"

// CheckAccess is the precondition on a change of what a sandbox may reach and
// do (ledger NP-30 to NP-32). A change of a saved policy other than the
// unrestricted one, and turning privileged on, must come with the values that
// the caller last read; where they come with another change, they must still
// be right. A missing expectation gives a *fault.Error of PreconditionRequired,
// a wrong one PreconditionFailed, whose details hold what is saved now.
//
// Policies are compared by what they say, not by their text.
func CheckAccess(saved, next Access, expected *Access) error {
	if expected != nil && !expected.equal(saved) {
		e := fault.New(fault.PreconditionFailed,
			"the saved network_policy or privileged is not what expected_access says; read the environment again, decide again, and send its current values")
		e.Param = "expected_access"
		e.Details = map[string]any{"current": map[string]any{
			"network_policy": saved.NetworkPolicy, "privileged": saved.Privileged,
		}}
		return e
	}
	policyGuarded := !saved.NetworkPolicy.Unrestricted && !saved.NetworkPolicy.Equal(next.NetworkPolicy)
	gainsPrivilege := next.Privileged && !saved.Privileged
	if expected != nil || !policyGuarded && !gainsPrivilege {
		return nil
	}
	what := "network_policy"
	if !policyGuarded {
		what = "privileged"
	}
	e := fault.New(fault.PreconditionRequired,
		"a change of %s needs expected_access with the network_policy and privileged that you last read", what)
	e.Param = "expected_access"
	return e
}

func (a Access) equal(b Access) bool {
	return a.Privileged == b.Privileged && a.NetworkPolicy.Equal(b.NetworkPolicy)
}
