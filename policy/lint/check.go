package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/hostlang"
)

// checker is one run of Check.
type checker struct {
	doc      policy.Document
	compiled *policy.Policy
	patterns [][]policy.Pattern // by rule
	space    *hostlang.Space
	options  Options
	findings []Finding
}

// Check returns the findings about a document by rule, those about no rule
// first. The error is that of [policy.Compile]: an invalid document has faults
// and no findings.
func Check(doc policy.Document, options Options) ([]Finding, error) {
	compiled, err := policy.Compile(doc)
	if err != nil {
		return nil, err
	}
	space, err := hostlang.New(doc)
	if err != nil {
		return nil, err
	}
	c := &checker{doc: doc, compiled: compiled, space: space, options: options}
	for _, r := range doc.Rules {
		patterns, err := policy.Patterns(r.HostGlob)
		if err != nil {
			return nil, err
		}
		c.patterns = append(c.patterns, patterns)
	}
	dead, err := c.checkReach()
	if err != nil {
		return nil, err
	}
	for rule := range doc.Rules {
		if !dead[rule] {
			c.checkApex(rule)
			c.checkSuffix(rule)
			c.checkAddress(rule)
		}
	}
	c.checkBindings()
	slices.SortStableFunc(c.findings, func(a, b Finding) int { return cmp.Compare(a.Rule, b.Rule) })
	return c.findings, nil
}

// report adds a finding about a rule.
func (c *checker) report(f Finding, format string, args ...any) {
	f.Message = fmt.Sprintf(format, args...)
	if f.Rule != policy.DefaultRule {
		f.Glob = c.doc.Rules[f.Rule].HostGlob
	}
	c.findings = append(c.findings, f)
}

// checkApex looks for names whose subdomains are allowed while they are not.
func (c *checker) checkApex(rule int) {
	if c.doc.Rules[rule].Action != policy.Allow {
		return
	}
	for _, p := range c.patterns[rule] {
		if len(p.Labels) < 2 || !p.Labels[0].Deep || literalTail(p) != len(p.Labels)-1 {
			continue
		}
		apex, err := policy.CanonicalHost(name(p.Labels[1:]))
		if err != nil || c.isSuffix(apex.String()) {
			continue
		}
		if d := c.compiled.Decide(apex); d.Rule == policy.DefaultRule {
			c.report(Finding{Code: ApexMissing, Rule: rule, Witness: apex}, "%s is denied: %s matches only names under it", apex, c.doc.Rules[rule].HostGlob)
		}
	}
}

// checkSuffix looks for wildcards in the place of the label that is
// registered.
func (c *checker) checkSuffix(rule int) {
	if c.doc.Rules[rule].Action != policy.Allow || c.options.PublicSuffix == nil {
		return
	}
	for _, p := range c.patterns[rule] {
		n := literalTail(p)
		if p.All || !p.Host.IsZero() || n == len(p.Labels) {
			continue
		}
		suffix := name(p.Labels[len(p.Labels)-n:])
		if n > 0 && !c.isSuffix(suffix) {
			continue
		}
		witness, _, err := c.space.Find(hostlang.Rule(rule))
		if err != nil {
			witness = policy.Host{}
		}
		where := "in any top-level domain"
		if n > 0 {
			where = "under " + suffix
		}
		c.report(Finding{Code: PublicSuffix, Severity: Warning, Rule: rule, Witness: witness},
			"%s allows names %s, where anybody can register one", c.doc.Rules[rule].HostGlob, where)
	}
}

func (c *checker) isSuffix(name string) bool {
	return c.options.PublicSuffix != nil && c.options.PublicSuffix(name)
}

// checkAddress looks for addresses among names.
func (c *checker) checkAddress(rule int) {
	names := slices.ContainsFunc(c.patterns, func(patterns []policy.Pattern) bool {
		return slices.ContainsFunc(patterns, func(p policy.Pattern) bool { return !p.All && !p.Host.IP().IsValid() })
	})
	for _, p := range c.patterns[rule] {
		if !names || !p.Host.IP().IsValid() {
			continue
		}
		severity, effect := Note, "it does not allow names that resolve to it"
		if c.doc.Rules[rule].Action == policy.Deny {
			severity, effect = Warning, "it does not deny names that resolve to it"
		}
		c.report(Finding{Code: AddressRule, Severity: severity, Rule: rule, Witness: p.Host},
			"the rule is about requests that spell %s; %s", p.Host, effect)
	}
}

// checkBindings looks at the hosts that secrets are bound to.
func (c *checker) checkBindings() {
	for _, b := range c.options.Bindings {
		d := c.compiled.Decide(b.Host)
		switch {
		case d.Action != policy.Allow:
			c.report(Finding{Code: DeniedBinding, Severity: Warning, Rule: d.Rule, Witness: b.Host}, "%s is bound to %s, which is denied", b.Name, b.Host)
		case d.Rule == policy.DefaultRule:
			c.report(Finding{Code: WideBinding, Severity: Warning, Rule: d.Rule, Witness: b.Host}, "%s is bound to %s, which only the unrestricted policy allows", b.Name, b.Host)
		case !slices.ContainsFunc(c.patterns[d.Rule], func(p policy.Pattern) bool { return p.Host == b.Host }):
			c.report(Finding{Code: WideBinding, Severity: Warning, Rule: d.Rule, Witness: b.Host}, "%s is bound to %s, which is allowed only by the wider %s", b.Name, b.Host, d.Glob)
		}
	}
}

// literalTail returns how many labels at the end of a pattern have no
// wildcard.
func literalTail(p policy.Pattern) int {
	n := 0
	for n < len(p.Labels) && isLiteral(p.Labels[len(p.Labels)-1-n]) {
		n++
	}
	return n
}
