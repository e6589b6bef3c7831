package edge

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"

	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/edge/wire"
	"github.com/sallyport/sallyport/inject/scan"
	"github.com/sallyport/sallyport/inject/scrub"
)

// exchange takes one request of a sandbox through the gate and to its upstream.
// It always returns a response: the upstream's or a refusal. The caller closes
// its body, which ends the crossing. Informational responses go to w meanwhile.
func (e *Edge) exchange(f *flow, w http.ResponseWriter, r *http.Request) *http.Response {
	c, ctx := e.beginRequest(f, r)
	out, refused := e.gate.pass(ctx, c, r)
	if refused != nil {
		return c.refusedResponse(r, refused)
	}
	c.admitted(ctx)
	c.atHand = r.ProtoMajor == 1 && wire.Arrived(r)
	if err := c.injection.Finish(ctx, out); err != nil {
		return c.refusedResponse(r, c.finishRefusal(err))
	}
	news := &informer{c: c, w: w, scrubbers: c.scrubbers(http.StatusEarlyHints)}
	resp, err := c.send(ctx, out, news)
	news.stop()
	if err != nil {
		return c.refusedResponse(r, upstreamRefusal(c, err))
	}
	e.gate.turnedDown(c, resp.StatusCode)
	c.source, _ = resp.Body.(wire.Waiter)
	refused = c.checkSwitch(resp)
	if refused == nil {
		refused = c.scrub(resp)
	}
	if refused != nil {
		resp.Body.Close()
		return c.refusedResponse(r, refused)
	}
	return c.answered(resp)
}

// refusedResponse renders a refusal as a response whose body ends the crossing.
func (c *crossing) refusedResponse(r *http.Request, refused *refusal.Refusal) *http.Response {
	refused = c.refuse(refused)
	resp := refused.Response(r)
	resp.Header[reasonKey] = []string{refused.ReasonPhrase()}
	c.slowDown = nil // our words cost no budget, least of all one that is used up
	if told := c.git.answer(r, refused); told != nil {
		c.rec.Status = told.StatusCode
		resp = told
	}
	resp.Body = &responseBody{c: c, body: resp.Body}
	return resp
}

func (c *crossing) answered(resp *http.Response) *http.Response {
	c.rec.Status = resp.StatusCode
	if resp.StatusCode == http.StatusSwitchingProtocols {
		c.rec.Protocol = protocolWebSocket
		resp.Body = &switchedBody{ReadWriteCloser: resp.Body.(io.ReadWriteCloser), c: c}
		return resp
	}
	cleanResponse(resp.Header)
	if c.edge.doors.isDraining() {
		resp.Header.Set("Connection", "close")
	}
	resp.Body = &responseBody{c: c, body: resp.Body}
	return resp
}

// checkSwitch refuses a 101 that wasn't asked for, or that switches to
// something else than what was: the bytes after it would pass unseen.
func (c *crossing) checkSwitch(resp *http.Response) *refusal.Refusal {
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil
	}
	// net/http makes the body of every 101 writable; one that isn't can't be relayed.
	_, writable := resp.Body.(io.ReadWriteCloser)
	if c.upgrade && writable && hasToken(resp.Header["Upgrade"], "websocket") {
		return nil
	}
	return &refusal.Refusal{Code: refusal.UpstreamProtocol, Host: c.host.String(), Detail: "101 that was not asked for"}
}

// trace notes where the connection leads and passes informational responses on.
func (c *crossing) trace(ctx context.Context, news *informer) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			news.Connected(info.Conn.RemoteAddr().String())
		},
		Got1xxResponse: func(code int, fields textproto.MIMEHeader) error {
			news.Informed(code, http.Header(fields))
			return nil
		},
	})
}

// informer notes where a request goes and relays informational responses.
// Transports call it from goroutines of their own, even after a round trip has
// failed.
type informer struct {
	c *crossing

	mu sync.Mutex
	w  http.ResponseWriter // nil once the round trip is over

	scrubbers []*scan.Replacer
}

// Connected implements [wire.Observer].
func (i *informer) Connected(address string) { i.c.dialled(address) }

// Informed implements [wire.Observer].
func (i *informer) Informed(code int, fields http.Header) {
	i.mu.Lock()
	defer i.mu.Unlock()
	// 100 is answered when the body is read, 101 is no informational response.
	if i.w == nil || code <= http.StatusSwitchingProtocols {
		return
	}
	h := i.w.Header()
	for name, values := range fields {
		h[name] = values
	}
	cleanResponse(h)
	for _, by := range i.scrubbers {
		scrub.Header(h, by)
	}
	i.w.WriteHeader(code)
	clear(h)
}

func (i *informer) stop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.w = nil
}
