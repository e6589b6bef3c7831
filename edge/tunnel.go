package edge

import (
	"context"
	"net"
	"net/http"

	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/edge/wire"
)

// tunnel serves what a client sends through an accepted CONNECT, or on a
// redirected connection: TLS is terminated, cleartext HTTP is judged as such,
// and anything else passes only where opaque tunnels may (ledger ED-20).
func (e *Edge) tunnel(ctx context.Context, f *flow, conn *wire.Conn) {
	t := e.opts.Timeouts
	k := sniff(conn, t.ServerFirst, t.Header)
	if k == kindSilent {
		k = e.awaitEither(ctx, f, conn)
	}
	switch k {
	case kindTLS:
		e.interceptUnlessSpliced(ctx, f, conn)
	case kindHTTP:
		f.scheme = schemeHTTP
		e.serveHTTP1(ctx, f, conn)
	case kindOpaque:
		e.opaque(ctx, f, conn, nil)
	case kindGone, kindSilent:
	}
}

// serveHTTP1 serves the requests on an HTTP/1 connection, in TLS or not.
func (e *Edge) serveHTTP1(ctx context.Context, f *flow, conn net.Conn) {
	srv := e.wireServer(e.requests(f), func(w http.ResponseWriter, err *wire.Error) {
		e.rejectHead(ctx, f, w, err)
	})
	srv.ServeConn(ctx, conn)
}

// refuseFlow records a connection that is closed without an answer.
func (e *Edge) refuseFlow(ctx context.Context, f *flow, protocol string, refused *refusal.Refusal) {
	c, _ := e.begin(ctx, f, protocol)
	c.hangUp(refused)
	c.finish(nil)
}
