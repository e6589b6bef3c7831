// Package refusal is what a sandbox sees when the edge says no: one shape on
// CONNECT, inside TLS, on plain HTTP and from the broker (decision 15).
package refusal

// Code is a machine-readable reason (ledger ED-24).
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
	SecretUnavailable    Code = "secret_unavailable"
	RateLimited          Code = "rate_limited"
	UpstreamDialError    Code = "upstream_dial_error"
	UpstreamTLSError     Code = "upstream_tls_error"
	UpstreamTimeout      Code = "upstream_timeout"
	UpstreamProtocol     Code = "upstream_protocol_error"
	EdgeOverloaded       Code = "edge_overloaded"
)

// Refusal is one refused crossing. Code and Host are shown to the sandbox;
// Detail goes to the audit log only.
type Refusal struct {
	Code      Code
	Host      string
	RequestID string
	Detail    string
}

func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Detail }
