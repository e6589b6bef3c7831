package api

import (
	"context"
	"errors"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/diff"
	"github.com/sallyport/sallyport/policy/lint"
	"github.com/sallyport/sallyport/sandboxd"
	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/strict"
)

// The bodies of the policy tools.
type (
	evaluatePolicy struct {
		NetworkPolicy policyDocument `json:"network_policy"`
		Hosts         []string       `json:"hosts" nullable:"false" minItems:"1" maxItems:"1000"`
	}
	explainPolicy struct {
		NetworkPolicy policyDocument `json:"network_policy"`
		Host          string         `json:"host"`
	}
	lintPolicy struct {
		NetworkPolicy policyDocument `json:"network_policy"`
	}
	twoPolicies struct {
		Old policyDocument `json:"old"`
		New policyDocument `json:"new"`
	}
)

// maxHosts bounds the hosts of one evaluation.
const maxHosts = 1000

// HostDecision is what a policy says about a host.
type HostDecision struct {
	Input   string `json:"input"`
	Host    string `json:"host,omitempty" doc:"In canonical form; absent when input is no host."`
	Verdict string `json:"verdict" enum:"allow,deny"`
	Rule    int    `json:"rule" doc:"Index of the deciding rule; -1: none."`
	Glob    string `json:"host_glob,omitempty"`
	Reason  string `json:"reason"`
	Detail  string `json:"detail,omitempty" doc:"Why input is no host."`
	Missed  []miss `json:"missed,omitempty" nullable:"false" doc:"Rules before the deciding one."`
}

type miss struct {
	Rule   int    `json:"rule"`
	Glob   string `json:"host_glob"`
	Action string `json:"action" enum:"allow,deny"`
	Why    string `json:"why"`
}

// Finding is what is probably not meant in a policy.
type Finding struct {
	Code     string `json:"code"`
	Severity string `json:"severity" enum:"note,warning,error"`
	Rule     int    `json:"rule" doc:"-1: it is about no rule."`
	Glob     string `json:"host_glob,omitempty"`
	Related  []int  `json:"related,omitempty" nullable:"false"`
	Witness  string `json:"witness,omitempty" doc:"A host that shows it."`
	Message  string `json:"message"`
}

// PolicyChange is a set of hosts whose verdict changes.
type PolicyChange struct {
	Direction string `json:"direction" enum:"narrowing,widening"`
	Pattern   string `json:"pattern"`
	Whole     bool   `json:"whole" doc:"Every host of pattern changes."`
	Witness   string `json:"witness,omitempty"`
	OldRule   int    `json:"old_rule"`
	OldGlob   string `json:"old_host_glob,omitempty"`
	NewRule   int    `json:"new_rule"`
	NewGlob   string `json:"new_host_glob,omitempty"`
}

type policyDiff struct {
	Widens  bool           `json:"widens"`
	Changes []PolicyChange `json:"changes" nullable:"false"`
}

type policyEquality struct {
	Equal   bool   `json:"equal"`
	Witness string `json:"witness,omitempty" doc:"A host on which the two differ."`
}

const policiesPath = "/v1/network_policies"

func (a *API) policies() {
	handle(a, operation{
		id: "evaluateNetworkPolicy", method: "POST", path: policiesPath + ":evaluate", status: 200, body: evaluatePolicy{},
		summary: "Say what a policy decides on hosts", about: "Nothing is saved; the decisions are those of the enforcing code.",
	}, a.evaluatePolicy)
	handle(a, operation{
		id: "explainNetworkPolicy", method: "POST", path: policiesPath + ":explain", status: 200, body: explainPolicy{},
		summary: "Say why a policy decides as it does on a host",
	}, a.explainPolicy)
	handle(a, operation{
		id: "lintNetworkPolicy", method: "POST", path: policiesPath + ":lint", status: 200, body: lintPolicy{},
		summary: "Say what in a policy is probably not meant",
	}, a.lintPolicy)
	handle(a, operation{
		id: "diffNetworkPolicies", method: "POST", path: policiesPath + ":diff", status: 200, body: twoPolicies{},
		summary: "Say which hosts become reachable and which stop",
	}, a.diffPolicies)
	handle(a, operation{
		id: "compareNetworkPolicies", method: "POST", path: policiesPath + ":equal", status: 200, body: twoPolicies{},
		summary: "Prove that two policies decide alike",
	}, a.comparePolicies)
}

// sentPolicy is a policy in a body. It has to be there: a missing one isn't no
// internet but a mistake.
type sentPolicy = strict.Field[policy.Document]

func present(f sentPolicy, path string) (policy.Document, error) {
	d, ok := f.Get()
	if !ok && !f.IsNull() {
		return d, fault.Invalid(path, "is missing; expected a network policy")
	}
	return d, nil
}

func (a *API) evaluatePolicy(ctx context.Context, c account.Caller, _ *none) (*answer[all[HostDecision]], error) {
	var body struct {
		NetworkPolicy sentPolicy `json:"network_policy"`
		Hosts         []string   `json:"hosts"`
	}
	if err := strict.Decode(requestOf(ctx).body, &body); err != nil {
		return nil, err
	}
	d, err := present(body.NetworkPolicy, "network_policy")
	if err != nil {
		return nil, err
	}
	if len(body.Hosts) == 0 || len(body.Hosts) > maxHosts {
		return nil, fault.Invalid("hosts", "expected 1 to %d hosts", maxHosts)
	}
	decisions, err := a.service.EvaluateNetworkPolicy(ctx, c, d, body.Hosts)
	out := &answer[all[HostDecision]]{all[HostDecision]{Data: []HostDecision{}}}
	for _, decision := range decisions {
		out.Body.Data = append(out.Body.Data, decisionOf(decision))
	}
	return out, err
}

func decisionOf(d sandboxd.HostDecision) HostDecision {
	out := HostDecision{
		Input: d.Input, Host: d.Host.String(), Verdict: d.Decision.Action.String(),
		Rule: d.Decision.Rule, Glob: d.Decision.Glob, Reason: string(d.Decision.Reason), Detail: d.Malady,
	}
	for _, m := range d.Missed {
		out.Missed = append(out.Missed, miss{m.Rule, m.Glob, m.Action.String(), m.Why})
	}
	return out
}

func (a *API) explainPolicy(ctx context.Context, c account.Caller, _ *none) (*answer[HostDecision], error) {
	var body struct {
		NetworkPolicy sentPolicy           `json:"network_policy"`
		Host          strict.Field[string] `json:"host"`
	}
	if err := strict.Decode(requestOf(ctx).body, &body); err != nil {
		return nil, err
	}
	d, err := present(body.NetworkPolicy, "network_policy")
	if err != nil {
		return nil, err
	}
	host, ok := body.Host.Get()
	if !ok {
		return nil, fault.Invalid("host", "is missing; expected a host")
	}
	decision, err := a.service.ExplainNetworkPolicy(ctx, c, d, host)
	return &answer[HostDecision]{decisionOf(decision)}, err
}

func (a *API) lintPolicy(ctx context.Context, c account.Caller, _ *none) (*answer[all[Finding]], error) {
	var body struct {
		NetworkPolicy sentPolicy `json:"network_policy"`
	}
	if err := strict.Decode(requestOf(ctx).body, &body); err != nil {
		return nil, err
	}
	d, err := present(body.NetworkPolicy, "network_policy")
	if err != nil {
		return nil, err
	}
	findings, err := a.service.LintNetworkPolicy(ctx, c, d)
	out := &answer[all[Finding]]{all[Finding]{Data: []Finding{}}}
	for _, f := range findings {
		out.Body.Data = append(out.Body.Data, findingOf(f))
	}
	return out, err
}

func findingOf(f lint.Finding) Finding {
	return Finding{string(f.Code), f.Severity.String(), f.Rule, f.Glob, f.Related, f.Witness.String(), f.Message}
}

// readTwo reads the policies old and new.
func readTwo(ctx context.Context) (before, after policy.Document, err error) {
	var body struct {
		Old sentPolicy `json:"old"`
		New sentPolicy `json:"new"`
	}
	if err := strict.Decode(requestOf(ctx).body, &body); err != nil {
		return before, after, err
	}
	before, oldErr := present(body.Old, "old")
	after, newErr := present(body.New, "new")
	return before, after, errors.Join(oldErr, newErr)
}

func (a *API) diffPolicies(ctx context.Context, c account.Caller, _ *none) (*answer[policyDiff], error) {
	before, after, err := readTwo(ctx)
	if err != nil {
		return nil, err
	}
	changes, err := a.service.DiffNetworkPolicies(ctx, c, before, after)
	out := &answer[policyDiff]{policyDiff{Widens: diff.Widens(changes), Changes: []PolicyChange{}}}
	for _, ch := range changes {
		out.Body.Changes = append(out.Body.Changes, PolicyChange{
			ch.Direction.String(), ch.Pattern, ch.Whole, ch.Witness.String(),
			ch.Old.Index, ch.Old.Glob, ch.New.Index, ch.New.Glob,
		})
	}
	return out, err
}

func (a *API) comparePolicies(ctx context.Context, c account.Caller, _ *none) (*answer[policyEquality], error) {
	before, after, err := readTwo(ctx)
	if err != nil {
		return nil, err
	}
	witness, differ, err := a.service.CompareNetworkPolicies(ctx, c, before, after)
	return &answer[policyEquality]{policyEquality{Equal: !differ, Witness: witness.String()}}, err
}
