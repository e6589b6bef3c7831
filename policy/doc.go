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
// # Globs
//
// The host_glob of a rule is matched against the whole canonical host:
//
//	api.example.com      that host
//	*.example.com        every name under it, at any depth, but not example.com;
//	                     .example.com and **.example.com mean the same
//	*, **                every host, addresses included
//	api.*.com            a * elsewhere stands for exactly one label …
//	api-*.example.com    … or for a part of one, possibly empty
//	a?.x.test, [a-f0-9].x.test, [!a].x.test
//	                     one character of a label
//	a.**.x.test          a ** stands for one or more whole labels
//	{a,b}.example.com    the same as one rule for each alternative
//	10.0.0.5, ::1        that address; no other glob but * and ** matches one
//
// Globs are canonicalised as hosts are. A label with a wildcard must be ASCII.
// Refused are ports, schemes and paths, a leading * glued to letters
// ("*example.com", nearly always meant as "*.example.com"), and patterns of
// addresses ("10.0.0.*").
//
// # Bounds and promises
//
// The package performs no I/O, reads no clock and depends on nothing else of
// Sallyport. It is called by the edge for every request, by the resolver for
// every query, and by the operator's tools, which must never use another
// matcher than this one.
//
// Security promise: every zero value denies. A nil or zero [Policy], a zero
// [Decision] and a zero [Host] all mean "no".
package policy
