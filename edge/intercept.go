package edge

import (
	"context"
	"crypto/tls"
	"errors"

	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/edge/wire"
	"github.com/sallyport/sallyport/policy"
)

// helloConn is a client connection under TLS termination. crypto/tls hands it
// to the callbacks of the configuration that all connections share, so each
// finds its own flow.
type helloConn struct {
	*wire.Conn
	flow    *flow
	refused *refusal.Refusal // why the ClientHello was turned down
}

var errForeignConn = errors.New("ClientHello of a connection that isn't ours")

// newTLSConfig returns the configuration towards clients. The server name is
// checked in GetConfigForClient and not where the certificate is chosen,
// because a resumed session chooses none.
func (e *Edge) newTLSConfig() *tls.Config {
	// No certificate: the client gets unrecognized_name. No tickets: it can't
	// resume a session of another host instead.
	none := &tls.Config{MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			conn, ok := hello.Conn.(*helloConn)
			if !ok {
				return nil, errForeignConn
			}
			conn.refused = conn.flow.acceptSNI(hello.ServerName)
			if conn.refused == nil {
				return nil, nil // the configuration stays
			}
			return none, nil
		},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			conn, ok := hello.Conn.(*helloConn)
			if !ok {
				return nil, errForeignConn
			}
			return e.opts.Authority.Leaf(conn.flow.host.String())
		},
	}
}

// acceptSNI checks the server name of a ClientHello against the flow, or takes
// the flow's authority from it (decisions 7 and 8).
func (f *flow) acceptSNI(name string) *refusal.Refusal {
	if name == "" {
		if f.host.IsZero() {
			f.host = f.synthetic
		}
		if f.host.IsZero() {
			return &refusal.Refusal{Code: refusal.BadHost, Detail: "no server name, and no name behind the address"}
		}
		return nil
	}
	host, err := policy.CanonicalHost(name)
	if err != nil {
		return &refusal.Refusal{Code: refusal.BadHost, Host: name, Detail: err.Error()}
	}
	if f.host.IsZero() {
		f.host = host
	}
	if host != f.host {
		detail := "server name " + name + " on a connection for " + hostPort(f.host, f.port)
		return &refusal.Refusal{Code: refusal.SNIMismatch, Host: name, Detail: detail}
	}
	return nil
}

// intercept terminates TLS and serves the requests inside. A denied host in
// transparent mode gets that far too, because only inside can a client be told
// why.
func (e *Edge) intercept(ctx context.Context, f *flow, conn *wire.Conn) {
	f.scheme = schemeHTTPS
	hello := &helloConn{Conn: conn, flow: f}
	tc := tls.Server(hello, e.tls)
	defer tc.Close()
	hctx, cancel := context.WithTimeout(ctx, e.opts.Timeouts.Handshake)
	err := tc.HandshakeContext(hctx)
	cancel()
	if err != nil || hello.refused != nil {
		e.handshakeFailed(ctx, hello, err)
		return
	}
	if tc.ConnectionState().NegotiatedProtocol == "h2" {
		e.serveHTTP2(ctx, f, tc)
		return
	}
	e.serveHTTP1(ctx, f, tc)
}

// handshakeFailed records a handshake that the edge turned down, or that a
// client broke off: most often one that doesn't trust the CA.
func (e *Edge) handshakeFailed(ctx context.Context, hello *helloConn, err error) {
	refused := hello.refused
	if refused == nil {
		refused = &refusal.Refusal{Code: refusal.ProtocolDenied, Host: hello.flow.host.String(), Detail: "TLS handshake: " + err.Error()}
	}
	e.refuseFlow(ctx, hello.flow, protocolTLS, refused)
}
