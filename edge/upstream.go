package edge

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/sallyport/sallyport/edge/guard"
	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/policy"
)

// upstream is the only place that connections leave from: one for each
// boundary. It pools them by scheme, host and port of the agreed authority, so
// that a request for one host never travels on a connection to another;
// net/http doesn't coalesce HTTP/2 connections by certificate either. Nor does
// one ever travel on a connection that another boundary has used: an origin
// that can be led out of step would take the next sandbox's request, with the
// secret in it, for the rest of the last one's.
type upstream struct {
	dialer   *guard.Dialer
	timeouts Timeouts
	parent   *url.URL // nil: none
	roots    *x509.CertPool
	plain    *transports // without a client certificate

	mu      sync.Mutex // guards what follows
	conns   map[net.Conn]struct{}
	showing map[*inject.Certificate]*transports
	foreign map[string]time.Time // origins that don't speak HTTP/1.1, until when
	closed  bool
}

const (
	idlePerHost = 32
	idleInAll   = 128
	idleTime    = 90 * time.Second
	// continueTime is how long an origin may leave Expect: 100-continue
	// unanswered before the body is sent anyway (RFC 9110 §10.1.1).
	continueTime = time.Second
	sessions     = 64 // TLS sessions kept for resumption
	// pingAfter and pingTime find out that an HTTP/2 connection is dead, which
	// would otherwise swallow requests until their time-out.
	pingAfter = 30 * time.Second
	pingTime  = 15 * time.Second
	// maxResponseHead bounds what an origin can make us hold; net/http's own
	// limit is 10 MiB.
	maxResponseHead = 256 << 10
)

func newUpstream(o Options) *upstream {
	u := &upstream{dialer: o.Dialer, timeouts: o.Timeouts, parent: o.Parent, roots: o.Roots, conns: map[net.Conn]struct{}{}}
	u.plain = u.newTransports(nil)
	return u
}

// transport returns a Transport that dials through the guard only and adds
// nothing of its own to a request. Proxy is nil: no environment decides.
func (u *upstream) transport(base *tls.Config, protocols ...string) *http.Transport {
	cfg := base.Clone()
	cfg.NextProtos = protocols
	return &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return u.dialAddr(ctx, addr)
		},
		DialTLSContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return u.dialTLS(ctx, addr, cfg)
		},
		DisableCompression: true,

		MaxResponseHeaderBytes: maxResponseHead,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTime},
		ResponseHeaderTimeout:  u.timeouts.ResponseHeader,
		ExpectContinueTimeout:  continueTime,
		MaxIdleConns:           idleInAll,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTime,
	}
}

// dial connects to a host, checked by the guard, within the dial time-out. The
// connection ends when it has been idle for too long. An error is a *fault.
func (u *upstream) dial(ctx context.Context, host policy.Host, port uint16) (net.Conn, error) {
	conn, err := u.connect(ctx, host, port)
	if err != nil {
		return nil, err
	}
	return u.keep(newIdleConn(conn, u.timeouts.Idle))
}

// connect is dial without a limit to how long the connection may be idle, and
// without keeping it.
func (u *upstream) connect(ctx context.Context, host policy.Host, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, u.timeouts.Dial)
	defer cancel()
	if u.parent != nil && !pinned(u.dialer, host, port) {
		return u.viaParent(ctx, host, port)
	}
	conn, err := u.dialer.DialContext(ctx, host, port)
	if err != nil {
		return nil, &fault{code: dialCode(err), err: err}
	}
	return conn, nil
}

func (u *upstream) dialAddr(ctx context.Context, addr string) (net.Conn, error) {
	host, port, err := policy.CanonicalAuthority(addr, 0)
	if err != nil {
		return nil, &fault{code: refusal.BadHost, err: err}
	}
	return u.dial(ctx, host, port)
}

func (u *upstream) dialTLS(ctx context.Context, addr string, base *tls.Config) (net.Conn, error) {
	host, port, err := policy.CanonicalAuthority(addr, 0)
	if err != nil {
		return nil, &fault{code: refusal.BadHost, err: err}
	}
	conn, err := u.dial(ctx, host, port)
	if err != nil {
		return nil, err
	}
	return u.secure(ctx, conn, host, base)
}

// secure shakes hands with host, whose certificate is verified.
func (u *upstream) secure(ctx context.Context, conn net.Conn, host policy.Host, base *tls.Config) (net.Conn, error) {
	cfg := base.Clone()
	cfg.ServerName = host.String()
	tc := tls.Client(conn, cfg)
	ctx, cancel := context.WithTimeout(ctx, u.timeouts.Handshake)
	defer cancel()
	if err := tc.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, &fault{code: handshakeCode(err), err: fmt.Errorf("shake hands with %s: %w", host, err)}
	}
	return tc, nil
}

var errClosed = errors.New("boundary has closed")

// keep notes a connection until it is closed.
func (u *upstream) keep(conn net.Conn) (net.Conn, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		conn.Close()
		return nil, &fault{code: refusal.UpstreamDialError, err: errClosed}
	}
	kept := &keptConn{Conn: conn, from: u}
	u.conns[kept] = struct{}{}
	return kept, nil
}

// close ends every connection, in use or not, and lets none be made any more.
func (u *upstream) close() {
	u.mu.Lock()
	u.closed = true
	conns, showing := u.conns, u.showing
	u.conns, u.showing = nil, nil
	u.mu.Unlock()
	u.plain.closeIdle()
	for _, t := range showing {
		t.closeIdle()
	}
	for conn := range conns {
		conn.Close()
	}
}

// keptConn is a connection that its upstream knows of.
type keptConn struct {
	net.Conn
	from *upstream
}

// Close closes the connection and forgets it.
func (c *keptConn) Close() error {
	c.from.mu.Lock()
	delete(c.from.conns, c)
	c.from.mu.Unlock()
	return c.Conn.Close()
}

// NetConn returns the connection itself.
func (c *keptConn) NetConn() net.Conn { return c.Conn }

// CloseWrite ends the sending side.
func (c *keptConn) CloseWrite() error { return closeWrite(c.Conn) }
