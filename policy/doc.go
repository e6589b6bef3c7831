// Package policy says what one request of a sandbox may do.
//
// A policy document is an ordered list of host globs, each with an action;
// the first rule that matches a canonical host decides, and a host that no
// rule matches is denied. [Parse] reads a document, [Compile] turns it into a
// [Policy], and [Policy.Decide] answers for one [Host]. For most uses that is
// the whole API:
//
//	doc, err := policy.Parse(data)       // JSON or YAML, strict
//	p, err := policy.Compile(doc)
//	h, err := policy.CanonicalHost("API.Example.com.")
//	d := p.Decide(h)                     // d.Action is Deny unless a rule allows
//
// The package performs no I/O, reads no clock and depends on nothing else of
// Sallyport. It is called by the edge for every request, by the resolver for
// every query, and by the operator's tools, which must never use another
// matcher than this one.
//
// Security promise: every zero value denies. A nil or zero [Policy], a zero
// [Decision] and a zero [Host] all mean "no".
package policy
