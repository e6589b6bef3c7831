package edge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/elazarl/goproxy"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/edge/wire"
	"github.com/sallyport/sallyport/policy"
)

// proxied is one request to the explicit proxy, carried through goproxy in the
// request's context.
type proxied struct {
	flow *flow
	w    http.ResponseWriter
	body *responseBody // of the response that goproxy copies
}

type proxiedKey struct{}

func proxiedFrom(ctx context.Context) *proxied {
	p, _ := ctx.Value(proxiedKey{}).(*proxied)
	return p
}

var errGoproxyDials = errors.New("goproxy must not dial")

// newProxy returns goproxy as the explicit front: it tells CONNECT from
// absolute-form requests and calls back. It never dials and never forwards:
// goproxy v1.9.4 starts with InsecureSkipVerify, proxies from the environment
// and a dialer of its own, so each of these is replaced by one that fails.
func (e *Edge) newProxy() *goproxy.ProxyHttpServer {
	p := goproxy.NewProxyHttpServer()
	p.Logger = proxyLog{e.opts.Log}
	refuse := func(string, string) (net.Conn, error) { return nil, errGoproxyDials }
	refuseContext := func(context.Context, string, string) (net.Conn, error) { return nil, errGoproxyDials }
	p.Tr = &http.Transport{DialContext: refuseContext, DialTLSContext: refuseContext}
	p.ConnectDial = refuse
	p.ConnectDialWithReq = func(*http.Request, string, string) (net.Conn, error) { return nil, errGoproxyDials }
	p.NonproxyHandler = http.HandlerFunc(e.notProxied)
	p.OnRequest().HandleConnectFunc(e.connect)
	p.OnRequest().DoFunc(func(r *http.Request, _ *goproxy.ProxyCtx) (*http.Request, *http.Response) {
		x := proxiedFrom(r.Context())
		resp := e.exchange(x.flow, x.w, r)
		x.body, _ = resp.Body.(*responseBody)
		return r, resp
	})
	return p
}

// proxyConn serves one connection to the explicit proxy.
func (e *Edge) proxyConn(ctx context.Context, f *front, conn net.Conn, boundaryID string) {
	base := flow{front: f, boundary: boundaryID, mode: audit.ModeExplicit, scheme: schemeHTTP}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.serveProxied(base, w, r)
	})
	srv := e.wireServer(handler, func(w http.ResponseWriter, err *wire.Error) {
		e.rejectHead(ctx, &base, w, err)
	})
	srv.Proxy = true
	srv.ServeConn(ctx, conn)
}

// serveProxied answers one request to the explicit proxy. Each proves its
// boundary anew: a connection may be shared.
func (e *Edge) serveProxied(f flow, w http.ResponseWriter, r *http.Request) {
	id, ok := e.identify(f.boundary, r)
	f.boundary = id
	if !ok {
		e.refuseUnknown(&f, w, r)
		return
	}
	if wantsWebSocket(r) {
		// goproxy relays a WebSocket without an idle limit, takes the end of one
		// direction for the end of both, and leaves a goroutine behind.
		e.serveRequest(&f, w, r)
		return
	}
	x := &proxied{flow: &f, w: w}
	e.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), proxiedKey{}, x)))
	if x.body != nil && x.body.err != nil {
		// goproxy ends a chunked response properly even if its source failed.
		panic(http.ErrAbortHandler)
	}
}

// connect decides on a CONNECT before it is answered (decision 6). Both ways it
// takes the connection: goproxy's own rejection closes it too early for a
// client that sends its ClientHello along.
func (e *Edge) connect(target string, ctx *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
	f := *proxiedFrom(ctx.Req.Context()).flow
	f.scheme = ""
	release, refused := e.admitConnect(&f, ctx.Req)
	return &goproxy.ConnectAction{
		Action: goproxy.ConnectHijack,
		Hijack: func(r *http.Request, client net.Conn, _ *goproxy.ProxyCtx) {
			if refused != nil {
				e.rejectConnect(client, refused)
				return
			}
			defer release()
			e.acceptConnect(r.Context(), &f, client)
		},
	}, target
}

// admitConnect judges a CONNECT and sets the flow's authority from its target.
// A refusal is a crossing of its own; what goes through an accepted tunnel is
// recorded piece by piece. release gives the tunnel back to its boundary.
func (e *Edge) admitConnect(f *flow, r *http.Request) (release func(), _ *refusal.Refusal) {
	c, _ := e.begin(r.Context(), f, protocolConnect)
	c.rec.Method = http.MethodConnect
	host, port, refused := connectAuthority(r)
	if refused == nil {
		refused = e.gate.admit(c, host, port)
		if found := c.inspectHead(r); refused == nil {
			refused = found
		}
	}
	if refused == nil {
		release, refused = e.lanes.openTunnel(c.boundary)
	}
	if refused != nil {
		refused.Host = cmp.Or(refused.Host, host.String())
		refused = c.refuse(refused)
		c.finish(nil)
		return nil, refused
	}
	c.cancel(nil) // recorded piece by piece
	f.host, f.port = host, port
	return release, nil
}

// connectAuthority returns the target of a CONNECT, with which a Host field has
// to agree.
func connectAuthority(r *http.Request) (policy.Host, uint16, *refusal.Refusal) {
	host, port, err := policy.CanonicalAuthority(r.URL.Host, 0)
	if err != nil {
		return policy.Host{}, 0, &refusal.Refusal{Code: refusal.BadHost, Host: r.URL.Host, Detail: err.Error()}
	}
	for _, name := range r.Header["Host"] {
		h, p, err := policy.CanonicalAuthority(name, port)
		if err != nil || h != host || p != port {
			detail := fmt.Sprintf("CONNECT to %s with Host %q", hostPort(host, port), name)
			return host, port, &refusal.Refusal{Code: refusal.HostMismatch, Host: name, Detail: detail}
		}
	}
	return host, port, nil
}

func (e *Edge) rejectConnect(client net.Conn, refused *refusal.Refusal) {
	if refused.WriteHTTP1(client, true) == nil {
		wire.Linger(client)
	}
}

// acceptConnect answers 200 with nothing else in the head (RFC 9110 §9.3.6) and
// serves the tunnel.
func (e *Edge) acceptConnect(ctx context.Context, f *flow, client net.Conn) {
	conn, ok := client.(*wire.Conn)
	if !ok {
		return // only package wire drives goproxy
	}
	if _, err := conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		return
	}
	e.tunnel(ctx, f, conn)
}

// notProxied answers origin-form requests to the proxy itself.
func (e *Edge) notProxied(w http.ResponseWriter, r *http.Request) {
	c, _ := e.beginRequest(proxiedFrom(r.Context()).flow, r)
	defer c.finish(nil)
	e.write(w, c.refuse(&refusal.Refusal{Code: refusal.BadRequest, Host: r.Host, Detail: "not a proxy request"}))
}

// write renders a refusal with its reason phrase.
func (e *Edge) write(w http.ResponseWriter, refused *refusal.Refusal) {
	h := w.Header()
	for name, values := range refused.Header() {
		h[name] = values
	}
	h[reasonKey] = []string{refused.ReasonPhrase()}
	w.WriteHeader(refused.Status())
	// A client that has gone needs no answer.
	_, _ = w.Write(refused.JSON())
}

// rejectHead records and answers a request that package wire rejected.
func (e *Edge) rejectHead(ctx context.Context, f *flow, w http.ResponseWriter, bad *wire.Error) {
	c, _ := e.begin(ctx, f, protocolHTTP1)
	defer c.finish(nil)
	refused := c.refuse(&refusal.Refusal{Code: refusal.BadRequest, Detail: bad.Msg})
	c.rec.Status = bad.Status
	h := w.Header()
	for name, values := range refused.Header() {
		h[name] = values
	}
	h[reasonKey] = []string{refused.ReasonPhrase()}
	w.WriteHeader(bad.Status)
	_, _ = w.Write(refused.JSON())
}

// proxyLog passes goproxy's messages on.
type proxyLog struct{ log *slog.Logger }

func (l proxyLog) Printf(format string, v ...any) {
	l.log.Debug("goproxy", "message", string(bytes.TrimSpace(fmt.Appendf(nil, format, v...))))
}
