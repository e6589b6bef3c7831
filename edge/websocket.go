package edge

import (
	"io"
	"net/http"
)

// switchProtocols passes a 101 on and relays what follows. The crossing lasts
// as long as the relay.
func (e *Edge) switchProtocols(w http.ResponseWriter, resp *http.Response) {
	up, ok := resp.Body.(*switchedBody)
	if !ok {
		return // answered makes no other body for a 101
	}
	c, ctx := up.c, resp.Request.Context()
	defer c.finish(nil)
	defer up.Close()
	h := w.Header()
	for name, values := range resp.Header {
		h[name] = values
	}
	removeHopByHop(h)
	h.Set("Connection", "Upgrade")
	h.Set("Upgrade", "websocket")
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		c.finish(err)
		return
	}
	relay(ctx, c, c.watchedClient(newIdleConn(conn, e.opts.Timeouts.Idle)), c.scrubbedUpstream(up))
}

// watchedClient looks through what a client's frames hold.
func (c *crossing) watchedClient(client stream) stream {
	look := c.injection.Messages()
	if look == nil {
		return client
	}
	return &watchedFrames{stream: client, look: look}
}

// scrubbedUpstream takes secrets out of an upstream's frames.
func (c *crossing) scrubbedUpstream(up stream) stream {
	by := c.injection.Scrubber(http.StatusSwitchingProtocols)
	if by == nil {
		return up
	}
	return &scrubbedFrames{stream: up, text: by.Fitted().Stream()}
}

// switchedBody is the upstream's side after a 101, with its crossing.
type switchedBody struct {
	io.ReadWriteCloser
	c *crossing
}

// CloseWrite ends the sending side.
func (b *switchedBody) CloseWrite() error { return closeWrite(b.ReadWriteCloser) }
