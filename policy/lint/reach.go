package lint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/hostlang"
)

// checkReach finds the rules that decide no host and returns them.
func (c *checker) checkReach() (dead map[int]bool, err error) {
	state := map[int]error{} // of the rules that decide a host, or may
	met, open, err := c.space.Outcomes()
	switch {
	case errors.Is(err, hostlang.ErrTooComplex):
		for rule := range c.doc.Rules {
			if _, found, err := c.space.Find(hostlang.Rule(rule)); found || err != nil {
				state[rule] = err
			}
		}
	case err != nil:
		return nil, err
	}
	for _, o := range open {
		state[o.Rules[0]] = hostlang.ErrUndecided
	}
	for _, o := range met {
		state[o.Rules[0]] = nil
	}
	dead = map[int]bool{}
	for rule := range c.doc.Rules {
		err, alive := state[rule]
		switch {
		case errors.Is(err, hostlang.ErrTooComplex), errors.Is(err, hostlang.ErrUndecided):
			c.report(Finding{Code: Undecided, Rule: rule}, "whether the rule decides any host is not known: %v", err)
		case err != nil:
			return nil, err
		case !alive:
			dead[rule] = true
			if err := c.reportDead(rule); err != nil {
				return nil, err
			}
		}
	}
	return dead, nil
}

// reportDead says what hides a rule that decides no host.
func (c *checker) reportDead(rule int) error {
	f := Finding{Code: UnreachableRule, Severity: Warning, Rule: rule}
	r := c.doc.Rules[rule]
	for earlier := range rule {
		switch {
		case samePatterns(c.patterns[earlier], c.patterns[rule]):
			f.Code = DuplicateRule
		case slices.ContainsFunc(c.patterns[earlier], func(p policy.Pattern) bool { return p.All }):
			f.Code = RuleAfterStar
		default:
			continue
		}
		f.Related = []int{earlier}
		f.Severity = c.severity(rule, f.Related)
		f.Witness = c.someHost(rule)
		c.report(f, "%s %s", c.effect(rule, f.Related), map[Code]string{
			DuplicateRule: fmt.Sprintf("rule %d has the same hosts", earlier),
			RuleAfterStar: fmt.Sprintf("rule %d matches every host", earlier),
		}[f.Code])
		return nil
	}
	hiders, witness, err := c.hiders(rule)
	if err != nil {
		return err
	}
	if len(hiders) == 0 {
		c.report(f, "no host can match %s", r.HostGlob)
		return nil
	}
	f.Related, f.Witness, f.Severity = hiders, witness, c.severity(rule, hiders)
	c.report(f, "%s every host it matches is decided before, by %s", c.effect(rule, hiders), c.describe(hiders))
	return nil
}

// severity is Error where hosts that a rule denies are allowed.
func (c *checker) severity(rule int, hiders []int) Severity {
	if c.doc.Rules[rule].Action == policy.Deny && c.anyAllows(hiders) {
		return Error
	}
	return Warning
}

func (c *checker) anyAllows(rules []int) bool {
	return slices.ContainsFunc(rules, func(r int) bool { return c.doc.Rules[r].Action == policy.Allow })
}

func (c *checker) effect(rule int, hiders []int) string {
	if c.severity(rule, hiders) == Error {
		return "the rule denies nothing:"
	}
	return "the rule has no effect:"
}

func (c *checker) describe(rules []int) string {
	const most = 5
	var parts []string
	for i, r := range rules {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more", len(rules)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("rule %d (%s %s)", r, c.doc.Rules[r].Action, c.doc.Rules[r].HostGlob))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// hiders returns the earlier rules that decide the hosts of a dead rule, one
// if that one alone hides it, and a host that the first of them decides.
func (c *checker) hiders(rule int) (hiders []int, witness policy.Host, err error) {
	// Mostly it is the one that decides the first host that comes to mind.
	if witness = c.someHost(rule); !witness.IsZero() {
		if one := c.compiled.Decide(witness).Rule; covers(c.doc.Rules[one], c.doc.Rules[rule]) {
			return []int{one}, witness, nil
		}
	}
	space, err := c.space.With(policy.Document{Rules: c.doc.Rules[rule : rule+1]})
	if err != nil {
		return nil, witness, err
	}
	for {
		others := func(r int) bool { return !slices.Contains(hiders, r) }
		h, found, err := space.Find(others, hostlang.Rule(0))
		if err != nil && !errors.Is(err, hostlang.ErrUndecided) {
			return nil, witness, err
		}
		if !found {
			break
		}
		hiders = append(hiders, c.compiled.Decide(h).Rule)
	}
	slices.Sort(hiders)
	for _, one := range hiders {
		if covers(c.doc.Rules[one], c.doc.Rules[rule]) {
			return []int{one}, witness, nil
		}
	}
	return hiders, witness, nil
}

// covers reports whether one rule alone matches all that another one does.
func covers(one, other policy.Rule) bool {
	space, err := hostlang.New(policy.Document{Rules: []policy.Rule{one}}, policy.Document{Rules: []policy.Rule{other}})
	if err != nil {
		return false
	}
	_, found, err := space.Find(hostlang.Rule(policy.DefaultRule), hostlang.Rule(0))
	return err == nil && !found
}

// someHost returns a host that a rule matches, whatever decides it.
func (c *checker) someHost(rule int) policy.Host {
	space, err := hostlang.New(policy.Document{Rules: c.doc.Rules[rule : rule+1]})
	if err != nil {
		return policy.Host{}
	}
	h, _, err := space.Find(hostlang.Rule(0))
	if err != nil {
		return policy.Host{}
	}
	return h
}
