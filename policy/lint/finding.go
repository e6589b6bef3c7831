package lint

import (
	"github.com/sallyport/sallyport/policy"
)

// Severity says how bad a finding is. The zero value is the least.
type Severity uint8

// The severities. An Error is a rule that does the opposite of what it says; a
// Warning wants a change; a Note wants a look.
const (
	Note Severity = iota
	Warning
	Error
)

// String returns "note", "warning" or "error", as SARIF spells it.
func (s Severity) String() string {
	switch s {
	case Warning:
		return "warning"
	case Error:
		return "error"
	case Note:
	}
	return "note"
}

// Code names a kind of finding and never changes its meaning.
type Code string

// The codes.
const (
	UnreachableRule Code = "unreachable-rule"
	DuplicateRule   Code = "duplicate-rule"
	RuleAfterStar   Code = "rule-after-star"
	ApexMissing     Code = "apex-missing"
	PublicSuffix    Code = "public-suffix"
	AddressRule     Code = "address-rule"
	WideBinding     Code = "wide-binding"
	DeniedBinding   Code = "denied-binding"
	Undecided       Code = "undecided"
)

// Kind describes a code for readers of reports.
type Kind struct {
	Code    Code
	Summary string
	Help    string
}

// Kinds describes all codes, in the order of their declaration.
func Kinds() []Kind {
	return []Kind{
		{UnreachableRule, "A rule decides no host", "Every host that the rule matches is decided by earlier rules. Move the rule before them or delete it."},
		{DuplicateRule, "A rule repeats an earlier one", "The globs match the same hosts. Delete the later rule."},
		{RuleAfterStar, "A rule follows one that matches every host", "Move the rule before the one for every host, or delete it."},
		{ApexMissing, "A wildcard leaves out the name itself", `"*.example.com" does not match example.com. Add a rule for it if it is meant too.`},
		{PublicSuffix, "An allow rule spans names of unrelated owners", "Anybody can register a name under a public suffix. Allow the registered names that are meant."},
		{AddressRule, "A rule for an address stands beside rules for names", "A rule for an address is about requests that spell the address. It does not apply to names that resolve to it."},
		{WideBinding, "A host with a secret is allowed by a wide rule", "Allow the bound host by a rule of its own, so that the wide rule can be narrowed without thought of the secret."},
		{DeniedBinding, "A host with a secret is denied", "A binding never opens a host; the policy must allow it as well."},
		{Undecided, "A rule could not be decided about", "The wildcards combine in too many ways, or only internationalised names could be hosts of the rule."},
	}
}

// Finding is one thing that is probably not meant.
type Finding struct {
	Code     Code
	Severity Severity
	// Rule is the index of the rule that the finding is about, or
	// policy.DefaultRule if it is about none.
	Rule int
	Glob string
	// Related are the other rules that matter, ascending: those that hide an
	// unreachable one.
	Related []int
	// Witness is a host that shows it; zero if none does.
	Witness policy.Host
	Message string
}

// Binding is a secret that is bound to one host.
type Binding struct {
	Name string
	Host policy.Host
}

// Options are what [Check] knows beside the policy. All of it is optional.
type Options struct {
	// PublicSuffix says whether names of unrelated owners are registered
	// directly under a canonical name, such as "com" or "co.uk". Nil leaves
	// out the findings about it.
	PublicSuffix func(name string) bool
	// Bindings are the secrets of the sandboxes that get the policy.
	Bindings []Binding
}
