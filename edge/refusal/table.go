package refusal

import (
	"net/http"

	"github.com/sallyport/sallyport/edge/audit"
)

// entry is what follows from a code.
type entry struct {
	code    Code
	status  int
	message string // public, fixed
	hint    string // public, fixed: what the sandbox's user can do
	// fault marks an answer that is not a verdict on the request: nobody
	// blocked anything, something failed.
	fault      bool
	errorType  string // RFC 9209 §2.3
	severity   string
	retryAfter int // seconds; 0: no header
	closes     bool
}

const retryHint = "Try again later; if it persists, give the request id to the operator."

var table = []entry{
	{code: NetworkPolicyDenied, status: http.StatusForbidden, errorType: "http_request_denied", severity: audit.SeverityLow,
		message: "The network policy of this sandbox does not allow this host.",
		hint:    "Ask for an allow rule for this host in the environment's network policy."},
	{code: BadHost, status: http.StatusBadRequest, errorType: "http_request_error", severity: audit.SeverityMedium,
		message: "The host is not a valid name or address.",
		hint:    "Use a plain DNS name, or an IP address in its usual form without a zone."},
	{code: BadRequest, status: http.StatusBadRequest, errorType: "http_request_error", severity: audit.SeverityMedium, closes: true,
		message: "The request is not well-formed.",
		hint:    "Send a valid HTTP request through the proxy."},
	{code: PrivateAddress, status: http.StatusForbidden, errorType: "destination_ip_prohibited", severity: audit.SeverityHigh,
		message: "The host leads to an address that sandboxes may not reach.",
		hint:    "Only public addresses can be reached unless the operator lists the network."},
	{code: HostMismatch, status: http.StatusMisdirectedRequest, errorType: "http_request_error", severity: audit.SeverityHigh, closes: true,
		message: "The request names another host than the connection it came on.",
		hint:    "Open a connection of its own for each host."},
	{code: SNIMismatch, status: http.StatusMisdirectedRequest, errorType: "http_request_error", severity: audit.SeverityHigh, closes: true,
		message: "The TLS server name differs from the host of the connection.",
		hint:    "Send the host that you connect to as the TLS server name."},
	{code: PortDenied, status: http.StatusForbidden, errorType: "http_request_denied", severity: audit.SeverityLow,
		message: "This port may not be reached from a sandbox.",
		hint:    "Use another port, or ask the operator to open this one."},
	{code: ProtocolDenied, status: http.StatusForbidden, errorType: "http_request_denied", severity: audit.SeverityMedium, closes: true,
		message: "This protocol may not be used through the edge.",
		hint:    "Use HTTPS with HTTP/1.1 or HTTP/2."},
	{code: IdentityRequired, status: http.StatusProxyAuthRequired, errorType: "http_request_denied", severity: audit.SeverityMedium,
		message: "The proxy does not know this sandbox.",
		hint:    "Use the proxy URL with the credentials that this sandbox was given."},
	{code: PlaceholderWrongHost, status: http.StatusForbidden, errorType: "http_request_denied", severity: audit.SeverityHigh,
		message: "The request carries a placeholder that is not bound to this destination.",
		hint:    "Send each placeholder only over HTTPS to the host that it is bound to."},
	{code: SecretLeak, status: http.StatusForbidden, errorType: "http_request_denied", severity: audit.SeverityCritical, closes: true,
		message: "The request carries the value of a secret, which no sandbox should have.",
		hint:    "Tell the operator; the request id leads to the record. Use the placeholder instead."},
	{code: SecretUnavailable, status: http.StatusServiceUnavailable, errorType: "proxy_internal_error", severity: audit.SeverityMedium, fault: true, retryAfter: 5,
		message: "A secret that this request needs can't be had at the moment; nothing was sent.",
		hint:    retryHint},
	{code: SecretBudget, status: http.StatusTooManyRequests, errorType: "http_request_denied", severity: audit.SeverityMedium, retryAfter: 3600,
		message: "This sandbox has used up what it may do with a secret.",
		hint:    "Nothing gives the budget back within this sandbox; ask the operator for a larger one."},
	{code: RateLimited, status: http.StatusTooManyRequests, errorType: "http_request_denied", severity: audit.SeverityLow, retryAfter: 1,
		message: "This sandbox has sent too many requests.",
		hint:    "Wait as long as Retry-After says, then go on more slowly."},
	{code: RepositoryNotGranted, status: http.StatusForbidden, errorType: "http_request_denied", severity: audit.SeverityLow,
		message: "This sandbox is not granted this repository.",
		hint:    "Ask for the repository in the environment's git grants; its URL must be https://HOST/OWNER/REPOSITORY."},
	{code: BodyTooLarge, status: http.StatusRequestEntityTooLarge, errorType: "http_request_error", severity: audit.SeverityLow, closes: true,
		message: "The body of this request is longer than what can be read as a whole.",
		hint:    "Send it in several requests; a client of AWS can sign in chunks, or not the body."},
	{code: PushRefused, status: http.StatusForbidden, errorType: "http_request_denied", severity: audit.SeverityMedium, closes: true,
		message: "This sandbox may not push this.",
		hint:    "Push refs that the environment's git grants allow, with git's own protocol and without a signature."},
	{code: GitRefused, status: http.StatusForbidden, errorType: "http_request_denied", severity: audit.SeverityMedium,
		message: "The forge gives no credential for this repository.",
		hint:    "Give the request id to the operator: the forge's app or token lacks the repository or the permission."},
	{code: GitAuthUnavailable, status: http.StatusServiceUnavailable, errorType: "proxy_internal_error", severity: audit.SeverityMedium, fault: true, retryAfter: 5,
		message: "A git credential can't be had at the moment.",
		hint:    retryHint},
	{code: UpstreamDialError, status: http.StatusBadGateway, errorType: "destination_unavailable", severity: audit.SeverityLow, fault: true,
		message: "The host can't be reached.",
		hint:    "Check the host name and port; the policy allows this host."},
	{code: UpstreamTLSError, status: http.StatusBadGateway, errorType: "tls_certificate_error", severity: audit.SeverityMedium, fault: true,
		message: "The host's TLS certificate can't be verified.",
		hint:    "The edge never skips verification; the operator can add a root for this host."},
	{code: UpstreamTimeout, status: http.StatusGatewayTimeout, errorType: "http_response_timeout", severity: audit.SeverityLow, fault: true,
		message: "The host did not answer in time.",
		hint:    retryHint},
	{code: UpstreamProtocol, status: http.StatusBadGateway, errorType: "http_protocol_error", severity: audit.SeverityLow, fault: true,
		message: "The host's answer is not valid HTTP.",
		hint:    retryHint},
	{code: ParentProxyDenied, status: http.StatusForbidden, errorType: "http_request_denied", severity: audit.SeverityLow,
		message: "The proxy that this edge goes through does not allow this host.",
		hint:    "The policy of this sandbox allows the host; ask the operator about the network's own proxy."},
	{code: EdgeOverloaded, status: http.StatusServiceUnavailable, errorType: "proxy_internal_error", severity: audit.SeverityMedium, fault: true, retryAfter: 2,
		message: "The edge has no capacity for this request at the moment.",
		hint:    retryHint},
}

var byCode = func() map[Code]*entry {
	m := make(map[Code]*entry, len(table))
	for i := range table {
		m[table[i].code] = &table[i]
	}
	return m
}()

// unknown stands for a code without a row: still a refusal.
var unknown = entry{status: http.StatusForbidden, errorType: "http_request_denied", severity: audit.SeverityHigh, closes: true,
	message: "The request was refused.", hint: retryHint}

func row(c Code) *entry {
	if e, ok := byCode[c]; ok {
		return e
	}
	return &unknown
}

// Codes returns every code, in the order of the table. The caller owns the
// slice.
func Codes() []Code {
	codes := make([]Code, len(table))
	for i := range table {
		codes[i] = table[i].code
	}
	return codes
}

// Status returns the HTTP status that the code is answered with.
func (c Code) Status() int { return row(c).status }

// Message returns the fixed text that a sandbox is shown.
func (c Code) Message() string { return row(c).message }

// Hint returns the fixed text that says what a sandbox's user can do.
func (c Code) Hint() string { return row(c).hint }

// Severity returns the severity of the code's audit records, one of the
// constants of package audit. A caller that knows better sets another.
func (c Code) Severity() string { return row(c).severity }
