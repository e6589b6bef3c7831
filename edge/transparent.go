package edge

import (
	"context"
	"net"
	"net/netip"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/names"
	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/edge/wire"
)

// transparentConn serves one redirected connection. Its local address is where
// the sandbox meant to go: only the port counts, and the name behind a
// synthetic address. Where the packets would have gone is never dialled; the
// edge resolves the name by itself (ledger ED-8).
func (e *Edge) transparentConn(ctx context.Context, f *front, conn net.Conn, boundaryID string, dns *names.Server) {
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		e.opts.Log.ErrorContext(ctx, "original destination is unreadable", "error", err)
		return
	}
	if local.Port() == portDNS {
		if err := dns.ServeTCPConn(ctx, conn); err != nil {
			e.opts.Log.DebugContext(ctx, "DNS connection failed", "error", err)
		}
		return
	}
	fl := &flow{front: f, boundary: boundaryID, mode: audit.ModeTransparent, port: local.Port()}
	fl.synthetic, _ = e.opts.Names.Lookup(boundaryID, local.Addr().Unmap())
	if e.gate.portDenied(fl.port) {
		e.refuseFlow(ctx, fl, protocolOpaque, &refusal.Refusal{
			Code: refusal.PortDenied, Host: fl.named(local.Addr()), Detail: "connection to " + local.String(),
		})
		return
	}
	if b := e.opts.Table.Get(boundaryID); b != nil {
		release, refused := e.lanes.openTunnel(b)
		if refused != nil {
			refused.Host = fl.named(local.Addr())
			e.refuseFlow(ctx, fl, protocolOpaque, refused)
			return
		}
		defer release()
	}
	e.tunnel(ctx, fl, wire.NewConn(conn))
}

// named returns what to call a destination in a record.
func (f *flow) named(addr netip.Addr) string {
	if !f.synthetic.IsZero() {
		return f.synthetic.String()
	}
	return addr.Unmap().String()
}
