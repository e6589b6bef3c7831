package edge

import (
	"net"
	"net/http"
	"strconv"

	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/policy"
)

// Schemes of the requests on a flow.
const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
)

// Protocols as records name them.
const (
	protocolHTTP1     = "http/1.1"
	protocolHTTP2     = "h2"
	protocolWebSocket = "websocket"
	protocolOpaque    = "opaque"
	protocolConnect   = "connect"
	protocolTLS       = "tls"
)

const (
	portHTTP  = 80
	portHTTPS = 443
)

// flow is what is known of one connection, or of the tunnel in it: whose it is
// and where it leads. It belongs to one goroutine until its host is settled;
// after that it doesn't change.
type flow struct {
	front    *front
	boundary string // id, proven by the listener or by proxy credentials
	mode     string // audit.ModeExplicit or ModeTransparent
	scheme   string // of the requests inside; empty while unknown

	// host is the authority of everything on the flow: the CONNECT host, or in
	// transparent mode the SNI or the first Host. Zero while unknown; each
	// absolute-form request to the proxy has a flow of its own.
	host policy.Host
	port uint16
	// synthetic is the name behind the address that a transparent connection
	// was made to; zero if there is none.
	synthetic policy.Host
}

// authority returns where r goes, if everything in it that names a destination
// agrees: the flow's own authority, the request's Host or :authority, an
// absolute-form target (decision 7). Package wire and x/net/http2 leave a Host
// field in the header map even where another name has taken precedence.
func (f *flow) authority(r *http.Request) (policy.Host, uint16, *refusal.Refusal) {
	host, port := f.host, f.port
	if r.URL.Scheme != "" && r.URL.Scheme != f.scheme {
		return host, port, &refusal.Refusal{Code: refusal.BadRequest, Host: r.URL.Host, Detail: "target of scheme " + r.URL.Scheme}
	}
	for _, name := range namesIn(r) {
		h, p, err := policy.CanonicalAuthority(name, f.defaultPort())
		if err != nil {
			return host, port, &refusal.Refusal{Code: refusal.BadHost, Host: name, Detail: err.Error()}
		}
		if host.IsZero() {
			host = h
		}
		if port == 0 {
			port = p
		}
		if h != host || p != port {
			detail := "request for " + name + " on a connection for " + hostPort(host, port)
			return host, port, &refusal.Refusal{Code: refusal.HostMismatch, Host: name, Detail: detail}
		}
	}
	if host.IsZero() {
		return host, port, &refusal.Refusal{Code: refusal.BadHost, Detail: "request names no host"}
	}
	return host, port, nil
}

// settle makes the first request's authority that of all that follow on a
// connection without one, so that a pipelined request can't slip away.
func (f *flow) settle(host policy.Host, port uint16) {
	if f.host.IsZero() {
		f.host, f.port = host, port
	}
}

// defaultPort is what a name without a port means: the port of the connection
// it came on, else that of the scheme.
func (f *flow) defaultPort() uint16 {
	if f.port != 0 {
		return f.port
	}
	return schemePort(f.scheme)
}

// namesIn returns every authority that a request names, in order of precedence.
func namesIn(r *http.Request) []string {
	names := make([]string, 0, 3)
	if r.Host != "" {
		names = append(names, r.Host)
	}
	if r.URL.Host != "" && r.URL.Host != r.Host {
		names = append(names, r.URL.Host)
	}
	return append(names, r.Header["Host"]...)
}

func schemePort(scheme string) uint16 {
	if scheme == schemeHTTPS {
		return portHTTPS
	}
	return portHTTP
}

// hostPort returns the authority with its port, brackets around IPv6.
func hostPort(h policy.Host, port uint16) string {
	return net.JoinHostPort(h.String(), strconv.Itoa(int(port)))
}

// hostField returns the Host value for a request: without the port where the
// scheme implies it, because origins compare it.
func hostField(scheme string, h policy.Host, port uint16) string {
	if port != schemePort(scheme) {
		return hostPort(h, port)
	}
	if h.IP().Is6() {
		return "[" + h.String() + "]"
	}
	return h.String()
}
