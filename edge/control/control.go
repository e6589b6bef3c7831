// Package control is the socket over which boundaries open, change and close,
// both ends of it: [Handler] serves it inside the edge, [Client] is what
// sandboxd and the operator's CLI use.
//
// The protocol is HTTP/1.1 with JSON over a unix socket (mode 0600). Opening a
// boundary may carry listening sockets as SCM_RIGHTS beside the request's
// first bytes (unix(7)); the order of Open.Listeners says what each is for.
//
//	PUT    /v1/boundaries/{id}       OpenRequest + descriptors → OpenResponse; replaces
//	DELETE /v1/boundaries/{id}       closes it and its listeners
//	GET    /v1/boundaries/{id}/env   placeholders by variable
//	GET    /v1/trust                 TrustResponse
//	PUT    /v1/secrets/{name}        write-only
//	GET    /v1/secrets               names and versions
//	DELETE /v1/secrets/{name}
//	GET    /healthz
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

// SecretInfo describes a stored secret, never its value.
type SecretInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Created string `json:"created_at"`
}
