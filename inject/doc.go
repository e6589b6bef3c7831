// Package inject puts placeholders into a sandbox and secrets into its
// requests.
//
// A [Binding] ties a secret to one header of HTTPS requests to exactly one
// host and port. [Compile] turns the bindings of one boundary into a [Set],
// which knows the placeholder of each ([Set.Env]) and rewrites requests
// ([Set.Apply]). Values come from a [Resolver], which asks the
// [secret.Source] named by each reference and caches for a short time.
//
// What leaves a sandbox is looked through as well, however it is written:
// placeholders where they aren't bound, those of other boundaries ([Issued]),
// honey placeholders, and the secrets themselves. Heads are refused; bodies and
// messages are watched while they stream, and broken off if they must be. The
// values that are looked for are those of the boundary's own secrets: looking
// for everyone's would tell one sandbox whether it has guessed another's. For
// the same reason, and because ordinary text is full of them, values below
// [scan.MinSecret] bytes are neither looked for nor scrubbed. Content-coded
// request bodies are not decoded.
//
// The edge calls Apply after the policy has allowed a request and before it
// dials. The package never dials, and decides nothing about policy.
//
// A new source is a package below this one that implements [secret.Source],
// passes the suite in secret/secrettest, and is named in cmd/edge alone.
//
// Security promise: a secret is written only into the bound header of a
// request whose destination is the bound one over TLS, any placeholder found
// elsewhere in a head is refused, and one in a body is never replaced. Whatever is in doubt is an error, never a
// request forwarded with less.
package inject
