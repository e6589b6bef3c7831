package policy

import (
	"fmt"
	"slices"
)

// maxPatterns bounds what the braces of a whole document may stand for, and
// with it the time that a hostile document can make a decision take (NP-47).
const maxPatterns = 1024

// Compile turns a document into a Policy. Documents from [Parse] always
// compile; for others the error is an *[Error], and the Policy is nil.
func Compile(d Document) (*Policy, error) {
	switch {
	case d.Unrestricted && len(d.Rules) > 0:
		return nil, &Error{Path: "rules", Msg: "expected no rules in an unrestricted policy"}
	case d.Unrestricted:
		return &Policy{unrestricted: true}, nil
	case len(d.Rules) > MaxRules:
		return nil, tooManyRules(len(d.Rules))
	}
	p := &Policy{rules: slices.Clone(d.Rules)}
	filed := 0
	for i, r := range p.rules {
		if r.Action != Deny && r.Action != Allow {
			return nil, &Error{Path: rulePath(i) + ".action.type", Msg: fmt.Sprintf(`expected "allow" or "deny", found %s`, r.Action)}
		}
		patterns, err := parseGlob(r.HostGlob)
		if filed += len(patterns); err == nil && filed > maxPatterns {
			err = fmt.Errorf("the braces of all rules so far stand for more than %d alternatives", maxPatterns)
		}
		if err != nil {
			return nil, &Error{
				Path: rulePath(i) + ".match.host_glob",
				Msg:  fmt.Sprintf("expected a host glob, found %s: %v", quote(r.HostGlob), err),
			}
		}
		for _, pat := range patterns {
			p.table.add(i, pat)
		}
	}
	return p, nil
}
