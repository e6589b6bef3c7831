// Package vault is the secret source over HashiCorp Vault and what speaks its
// API. A secret is named MOUNT/PATH#FIELD.
//
// Whether a mount is a key/value engine, and of which version, is asked of the
// server. Any other engine that answers a read with a lease (database, aws,
// …) issues credentials: those are read once for each boundary, renewed while
// it is open, and revoked when it closes.
//
// [New] does no I/O. The first read logs in; [Source.Serve] renews what was
// granted and revokes it at the end. A token that has died is replaced by a
// new login at the next read, without a restart. Certificates, tokens and
// other credentials of our own are read from their files at each login.
//
// What Vault's audit log shows: each request carries the boundary's id in the
// header [BoundaryHeader], which an operator has recorded with
//
//	vault write sys/config/auditing/request-headers/X-Sallyport-Boundary hmac=false
//
// With [Options.BoundaryTokens], each boundary's requests are made with a
// child token of its own, whose display name and metadata hold the id, so that
// every entry shows it without such a setting; revoking that token then
// revokes all that was issued to the boundary.
//
// Failures: 404 is [secret.ErrNotFound]. 403 is [secret.ErrDenied], once a
// token found dead has been replaced and the second try is refused too. All
// else (sealed, standby, rate limits, time-outs, a redirect to another host)
// is [secret.ErrUnavailable].
//
// Security promise: the token is sent to the configured address and to
// [Options.RedirectHosts], over TLS unless the address says http, and nowhere
// else. No error holds what a server answered, only its status.
package vault
