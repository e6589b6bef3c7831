// Package broker mints the git credentials of sandboxes: short-lived, for one
// repository, with no more access than was granted.
//
// A [Grant] is what a boundary says about one repository; [Compile] makes the
// immutable [Grants] of a boundary. A [Broker] answers what the credential
// helper asks ([Broker.Get]): it finds the grant, asks the [Issuer] that the
// grant names, caches for a short time, and revokes what is outstanding once
// the grant is gone. It is asked by the edge, for the sandbox whose socket the
// question came in on; it serves nothing and dials nothing by itself.
//
// A new issuer is a package below this one that implements [Issuer], passes
// the suite in issuertest, and is named in cmd/edge alone.
//
// Security promise: a credential is handed out only for a repository that the
// sandbox's boundary grants at that moment, only to its issuer's own host, and
// with exactly the granted access. No error and no event holds any of it.
package broker
