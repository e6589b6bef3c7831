package edge

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"

	"github.com/sallyport/sallyport/edge/wire"
	"github.com/sallyport/sallyport/policy"
)

// maxHello bounds what is kept of a ClientHello: post-quantum key shares and
// long session tickets take several records, but not this much.
const maxHello = 128 << 10

var errHelloRead = errors.New("ClientHello has been read")

// splices reports whether any TLS may pass without interception, so that its
// ClientHello has to be looked at first.
func (e *Edge) splices() bool { return e.opts.NoIntercept != nil || e.opts.InterceptBoundOnly }

// interceptUnlessSpliced decides by the ClientHello. Passing TLS on as it is
// takes a server name that agrees with the flow's authority and a rule for it
// (decision 13); anything else is intercepted, which is also where a client
// can be told what is wrong.
func (e *Edge) interceptUnlessSpliced(ctx context.Context, f *flow, conn *wire.Conn) {
	if !e.splices() {
		e.intercept(ctx, f, conn)
		return
	}
	name, replay := e.readHello(ctx, conn)
	host, err := policy.CanonicalHost(name)
	if err != nil || !f.host.IsZero() && f.host != host || !e.maySplice(f, host) {
		e.intercept(ctx, f, replay)
		return
	}
	f.host = host
	e.splice(ctx, f, replay)
}

// maySplice reports whether TLS to host passes as it is. Where a secret is
// bound it never does: nothing could be injected, and a placeholder in the
// wrong place wouldn't be seen.
func (e *Edge) maySplice(f *flow, host policy.Host) bool {
	b := e.opts.Table.Get(f.boundary)
	if b == nil || e.gate.binds(b, host, f.port) || judge(b, host, f.port).Action != policy.Allow {
		return false
	}
	return e.opts.InterceptBoundOnly || e.opts.NoIntercept.Decide(host).Action == policy.Allow
}

// splice relays a TLS connection without looking into it. With the names that
// its client showed there is nothing more to check; what an origin serves under
// other names on the same connection can be reached too.
func (e *Edge) splice(ctx context.Context, f *flow, conn *wire.Conn) {
	c, ctx := e.begin(ctx, f, protocolTLS)
	defer func() { c.finish(nil) }()
	c.unseen = true
	refused := e.gate.admit(c, f.host, f.port)
	if refused == nil {
		refused = e.gate.take(c)
	}
	if refused != nil {
		c.hangUp(refused)
		return
	}
	up, refused := e.dialOpaque(ctx, c)
	if refused != nil {
		c.hangUp(refused)
		return
	}
	defer up.Close()
	c.dialled(up.RemoteAddr().String())
	c.admitted(ctx)
	relay(ctx, c, newIdleConn(conn, e.opts.Timeouts.Idle), up)
}

// readHello returns the server name of a ClientHello, or "", and a connection
// on which the ClientHello is still to be read.
func (e *Edge) readHello(ctx context.Context, conn *wire.Conn) (string, *wire.Conn) {
	ctx, cancel := context.WithTimeout(ctx, e.opts.Timeouts.Handshake)
	defer cancel()
	tap := &helloTap{Conn: conn}
	var name string
	// crypto/tls puts a hello together from however many records it came in.
	_ = tls.Server(tap, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		name = hello.ServerName
		return nil, errHelloRead
	}}).HandshakeContext(ctx) // fails, with errHelloRead at best
	return name, wire.NewConn(&replayConn{Conn: conn, r: io.MultiReader(&tap.seen, conn)})
}

// helloTap keeps what is read, and answers nothing.
type helloTap struct {
	net.Conn
	seen bytes.Buffer
}

func (t *helloTap) Read(p []byte) (int, error) {
	if t.seen.Len() > maxHello {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := t.Conn.Read(p)
	t.seen.Write(p[:n])
	return n, err
}

func (t *helloTap) Write(p []byte) (int, error) { return len(p), nil }
func (t *helloTap) Close() error                { return nil }

// replayConn is a connection whose first bytes were read before.
type replayConn struct {
	net.Conn
	r io.Reader
}

func (c *replayConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// CloseWrite ends the sending side.
func (c *replayConn) CloseWrite() error { return closeWrite(c.Conn) }
