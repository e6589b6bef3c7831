// Package refusal is what a sandbox sees when the edge says no: one shape on
// CONNECT, inside TLS, on plain HTTP and from the broker (decision 15).
//
// A [Refusal] is an error. Whoever decides returns one; whoever owns the
// connection renders it with [Refusal.Response], [Refusal.ServeHTTP] or
// [Refusal.WriteHTTP1]. Status, text and severity follow from the [Code] alone
// and stand in one table.
//
// Security promise: a rendering holds fixed text, the code, the host that the
// sandbox itself named and the request id. Detail, which is where causes,
// addresses and rules go, is never rendered, and no byte of a hostile host can
// end a header or forge one.
package refusal

// Code is a machine-readable reason (ledger ED-24). Every code has a row in
// the table; a code without one is refused with 403.
type Code string

const (
	NetworkPolicyDenied  Code = "network_policy_denied"
	BadHost              Code = "bad_host"
	BadRequest           Code = "bad_request"
	PrivateAddress       Code = "private_address"
	HostMismatch         Code = "host_mismatch"
	SNIMismatch          Code = "sni_mismatch"
	PortDenied           Code = "port_denied"
	ProtocolDenied       Code = "protocol_denied"
	IdentityRequired     Code = "identity_required"
	PlaceholderWrongHost Code = "placeholder_wrong_host"
	SecretLeak           Code = "secret_leak"
	SecretUnavailable    Code = "secret_unavailable"
	SecretBudget         Code = "secret_budget_exhausted"
	RateLimited          Code = "rate_limited"
	BodyTooLarge         Code = "body_too_large"
	PushRefused          Code = "push_refused"
	RepositoryNotGranted Code = "repository_not_granted"
	GitRefused           Code = "git_refused"
	GitAuthUnavailable   Code = "git_auth_unavailable"
	UpstreamDialError    Code = "upstream_dial_error"
	UpstreamTLSError     Code = "upstream_tls_error"
	UpstreamTimeout      Code = "upstream_timeout"
	UpstreamProtocol     Code = "upstream_protocol_error"
	EdgeOverloaded       Code = "edge_overloaded"
	ParentProxyDenied    Code = "parent_proxy_denied"
)

// Refusal is one refused crossing. Code is required. Code, Host and RequestID
// are shown to the sandbox; Detail goes to the audit log only.
type Refusal struct {
	Code      Code
	Host      string // as the sandbox named it; hostile bytes are rendered harmless
	RequestID string
	Detail    string
	// RetryAfterSeconds replaces the code's own Retry-After; zero keeps it.
	RetryAfterSeconds int
}

// Error returns the code and the detail: text for our log, never for the
// sandbox.
func (r *Refusal) Error() string {
	if r.Detail == "" {
		return string(r.Code)
	}
	return string(r.Code) + ": " + r.Detail
}

// Status returns the HTTP status of the refusal.
func (r *Refusal) Status() int { return r.Code.Status() }

// Closes reports whether the connection must not carry another request.
// Otherwise the connection may be kept, and a 407 must be, because clients
// repeat the request on it with their credentials.
func (r *Refusal) Closes() bool { return row(r.Code).closes }
