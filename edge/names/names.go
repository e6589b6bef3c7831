// Package names is the DNS of a sandbox. It gives out a synthetic address for
// each name that the policy allows, and remembers which name it stands for.
//
// A [Server] answers the queries of one boundary. A [Pool] holds the synthetic
// addresses of all boundaries; the edge asks [Pool.Lookup] which name a
// connection to one of them means.
//
// Security promise: no query is ever forwarded, so a name carries nothing out
// of a sandbox. A name that the policy doesn't allow gets REFUSED and no
// address. An address never changes its name while a client may still hold it.
package names
