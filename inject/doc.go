// Package inject puts placeholders into a sandbox and secrets into its
// requests.
//
// A [Binding] ties a secret to one header of HTTPS requests to exactly one
// host and port. [Compile] turns the bindings of one boundary into a [Set],
// which knows the placeholder of each ([Set.Env]) and rewrites requests
// ([Set.Apply]). Values come from a [Resolver], which asks the
// [secret.Source] named by each reference and caches for a short time.
//
// The edge calls Apply after the policy has allowed a request and before it
// dials. The package never dials, and decides nothing about policy.
//
// A new source is a package below this one that implements [secret.Source],
// passes the suite in secret/secrettest, and is named in cmd/edge alone.
//
// Security promise: a secret is written only into the bound header of a
// request whose destination is the bound one over TLS, and any placeholder
// found elsewhere is refused. Whatever is in doubt is an error, never a
// request forwarded with less.
package inject
