// Package control is the socket over which boundaries open, change and close,
// both ends of it: [Server] serves it inside the edge, [Client] is what
// sandboxd and the operator's CLI use.
//
// The protocol is HTTP/1.1 with JSON over a unix socket (mode 0600), one
// request a connection. Opening a boundary may carry listening sockets as
// SCM_RIGHTS beside the request's first bytes (unix(7)); the order of
// OpenRequest.Listeners says what each is for.
//
//	PUT    /v1/boundaries/{id}       OpenRequest + descriptors → OpenResponse; replaces
//	DELETE /v1/boundaries/{id}       closes it and its listeners
//	GET    /v1/boundaries/{id}/env   OpenResponse: placeholders by variable
//	GET    /v1/trust                 TrustResponse
//	PUT    /v1/secrets/{name}        SetSecretRequest; write-only
//	GET    /v1/secrets               SecretList: names and versions
//	DELETE /v1/secrets/{name}
//	PUT    /v1/credentials/{collection}/{name}  PutCredentialRequest; write-only
//	GET    /v1/credentials/{collection}         CredentialList
//	DELETE /v1/credentials/{collection}/{name}
//	POST   /v1/vaults                CreateVaultRequest → keyring.Vault
//	GET    /v1/vaults?org=&project=  VaultList
//	DELETE /v1/vaults/{id}           with all that is in it
//	POST   /v1/resolve               ResolveRequest → ResolveResponse: a session's bindings
//	GET    /healthz                  HealthResponse
//
// Bodies are decoded strictly. An error is answered as ErrorResponse.
//
// Security promise: a peer whose uid is neither root nor the edge's own is
// refused (SO_PEERCRED), and no answer ever holds a secret value.
package control

import "github.com/sallyport/sallyport/edge/boundary"

// ListenerKind says what a passed socket is for.
type ListenerKind string

const (
	// ListenProxy: TCP, HTTP proxy requests (CONNECT and absolute form).
	ListenProxy ListenerKind = "proxy"
	// ListenTransparent: TCP with IP_TRANSPARENT; LocalAddr is the original
	// destination. Port 53 is DNS over TCP.
	ListenTransparent ListenerKind = "transparent"
	// ListenDNS: UDP bound to port 53.
	ListenDNS ListenerKind = "dns"
	// ListenBroker: unix stream, the broker of git credentials.
	ListenBroker ListenerKind = "broker"
)

// OpenRequest opens or replaces one boundary.
type OpenRequest struct {
	Spec boundary.Spec `json:"spec"`
	// Listeners names the descriptors that travel with the request, in order.
	// A replacement without listeners keeps those it has.
	Listeners []ListenerKind `json:"listeners,omitempty"`
}

// OpenResponse is the answer: what the sandbox's environment must hold.
type OpenResponse struct {
	// Env maps each binding's variable to its placeholder.
	Env map[string]string `json:"env"`
}

// TrustResponse carries the CA certificate, PEM, never its key.
type TrustResponse struct {
	CA string `json:"ca"`
}

// SetSecretRequest carries the value of one secret, base64 in JSON.
type SetSecretRequest struct {
	Value []byte `json:"value"`
}

// SecretInfo describes a pushed secret, never its value.
type SecretInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// SecretList is the answer to a listing, ordered by name.
type SecretList struct {
	Secrets []SecretInfo `json:"secrets"`
}

// HealthResponse says how the edge is. Problem is empty when all is well, and
// otherwise what an operator must look at, for example a refused reload.
type HealthResponse struct {
	Boundaries int    `json:"boundaries"`
	Problem    string `json:"problem,omitempty"`
}

// ErrorResponse is the body of every answer that isn't a success.
type ErrorResponse struct {
	Error ErrorBody `json:"error"`
}

// ErrorBody says what was wrong: a code for programs, a text for people.
type ErrorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Limits of the protocol.
const (
	maxBody        = 4 << 20
	maxDescriptors = 8
)
