package edge

import (
	"context"
	"time"

	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/edge/wire"
	"github.com/sallyport/sallyport/policy"
)

// opaqueHost returns the host that an opaque tunnel of f may lead to: the
// CONNECT host, or the name behind a synthetic address. Nothing else in such a
// connection says where it goes.
func (f *flow) opaqueHost() policy.Host {
	if f.host.IsZero() {
		return f.synthetic
	}
	return f.host
}

// admitOpaque judges whether c may be an opaque tunnel.
func (e *Edge) admitOpaque(c *crossing) *refusal.Refusal {
	host := c.flow.opaqueHost()
	if host.IsZero() {
		return &refusal.Refusal{Code: refusal.ProtocolDenied, Detail: "neither TLS nor HTTP, and no name behind the address"}
	}
	if refused := e.gate.admit(c, host, c.flow.port); refused != nil {
		return refused
	}
	denied := &refusal.Refusal{Code: refusal.ProtocolDenied, Host: host.String()}
	switch {
	case !e.opts.OpaqueConnect:
		denied.Detail = "neither TLS nor HTTP, and opaque tunnels are off"
	case c.flow.port == portHTTPS:
		denied.Detail = "neither TLS nor HTTP on port 443"
	case e.gate.binds(c.boundary, host, c.flow.port):
		denied.Detail = "neither TLS nor HTTP to a host with a binding"
	default:
		return nil
	}
	return denied
}

// opaque relays a connection whose protocol the edge doesn't know. up is the
// upstream's side if it is open already.
func (e *Edge) opaque(ctx context.Context, f *flow, conn *wire.Conn, up *wire.Conn) {
	c, ctx := e.begin(ctx, f, protocolOpaque)
	defer func() { c.finish(nil) }()
	c.unseen = true
	refused := e.admitOpaque(c)
	if refused == nil {
		refused = e.gate.take(c)
	}
	if refused == nil && up == nil {
		up, refused = e.dialOpaque(ctx, c)
	}
	if refused != nil {
		c.hangUp(refused)
		return
	}
	defer up.Close()
	c.dialled(up.RemoteAddr().String())
	c.admitted(ctx)
	relay(ctx, c, newIdleConn(conn, e.opts.Timeouts.Idle), up)
}

func (e *Edge) dialOpaque(ctx context.Context, c *crossing) (*wire.Conn, *refusal.Refusal) {
	conn, err := e.lanes.of(c.boundary).upstream.dial(ctx, c.host, c.port)
	if err != nil {
		return nil, upstreamRefusal(c, err)
	}
	return wire.NewConn(conn), nil
}

// awaitEither is for a client that hasn't sent anything. Where an opaque tunnel
// may lead, its server is given the chance to speak first, as in SMTP or MySQL;
// a client that then speaks first after all is classified as usual, so being
// slow doesn't get TLS past interception.
func (e *Edge) awaitEither(ctx context.Context, f *flow, conn *wire.Conn) kind {
	t := e.opts.Timeouts
	probe, pctx := e.begin(ctx, f, protocolOpaque)
	defer probe.cancel(nil) // what follows has crossings of its own
	if e.admitOpaque(probe) != nil {
		k := sniff(conn, t.Handshake, t.Header)
		if k == kindSilent {
			e.refuseFlow(ctx, f, protocolOpaque, &refusal.Refusal{
				Code: refusal.ProtocolDenied, Host: f.opaqueHost().String(), Detail: "client sent nothing",
			})
		}
		return k
	}
	up, refused := e.dialOpaque(pctx, probe)
	if refused != nil {
		e.refuseFlow(ctx, f, protocolOpaque, refused)
		return kindGone
	}
	defer up.Close()
	k := e.clientFirst(conn, up)
	switch k {
	case kindSilent:
		e.opaque(ctx, f, conn, up)
		return kindGone
	case kindGone: // nothing will follow, but a connection was made
		probe.dialled(up.RemoteAddr().String())
		probe.finish(nil)
	case kindTLS, kindHTTP, kindOpaque:
	}
	return k
}

// longAgo, as a deadline, wakes whoever waits on a connection.
var longAgo = time.Unix(1, 0)

// clientFirst waits for either side and returns kindSilent if the upstream was
// first, or what the client turned out to speak.
func (e *Edge) clientFirst(conn, up *wire.Conn) kind {
	t := e.opts.Timeouts
	// Before the goroutine starts, or this would undo its waking us.
	if conn.SetReadDeadline(time.Now().Add(t.Idle)) != nil {
		return kindGone
	}
	spoke, woken := make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(woken)
		_, err := up.Peek(1)
		spoke <- err == nil
		_ = conn.SetReadDeadline(longAgo) // wakes the Peek below
	}()
	_, err := conn.Peek(1)
	upFirst := false
	select {
	case upFirst = <-spoke:
	default:
		// It isn't needed any more. A deadline wouldn't do to wake the Peek
		// above: if that has yet to begin it sets its own.
		up.Close()
	}
	<-woken
	if upFirst {
		forever(up)
	}
	forever(conn)
	switch {
	case err == nil:
		return sniffRest(conn, t.Header)
	case upFirst:
		return gone(err)
	}
	return kindGone
}
