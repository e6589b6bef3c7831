package wire

import (
	"errors"
	"io"
	"net/http"
)

// respond makes the response whose head has been read. Where no body follows
// the connection is free at once.
func (c *originConn) respond(r *http.Request, h *replyHead, resp *http.Response, stop func() bool) *http.Response {
	resp.Request = r
	b := &originBody{c: c, stop: stop, reusable: !resp.Close && !h.http10}
	switch {
	case h.bodiless(r.Method):
		// What comes all the same belongs to nobody.
		b.reusable = b.reusable && (r.Method == http.MethodHead || h.status == http.StatusNotModified || h.framing == framing{})
		b.release()
		return resp
	case h.framing.chunked:
		resp.Trailer = allTrailers(resp.Trailer)
		b.src = &chunkedReader{br: c.br, trailer: resp.Trailer, all: true}
		b.left = -1
	case h.length:
		b.src, b.left = c.br, h.framing.length
		if b.left == 0 {
			b.release()
			return resp
		}
	default:
		b.src, b.left, b.untilEnd, b.reusable = c.br, -1, true, false
	}
	resp.Body = b
	c.inBody = true
	return resp
}

func allTrailers(announced http.Header) http.Header {
	if announced == nil {
		return http.Header{}
	}
	return announced
}

// originBody is the body of a response. Once it has been read to its end its
// connection rests; closing it earlier ends the connection.
type originBody struct {
	c        *originConn // nil once it is released
	stop     func() bool // ends the watch over the request's context
	src      io.Reader
	left     int64 // of a body with Content-Length
	untilEnd bool  // of the connection
	reusable bool
	err      error // sticky
}

var errBodyClosed = errors.New("read response body: it is closed")

func (b *originBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	var n int
	n, b.err = b.read(p)
	if errors.Is(b.err, io.EOF) {
		b.release()
	}
	return n, b.err
}

func (b *originBody) read(p []byte) (int, error) {
	if b.left < 0 {
		return b.src.Read(p)
	}
	n, err := b.src.Read(p[:min(int64(len(p)), b.left)])
	if b.left -= int64(n); b.left == 0 {
		return n, io.EOF
	}
	if err != nil {
		err = unexpected(err)
	}
	return n, err
}

// BeforeWait has flush called, on the goroutine that reads, before any read that
// may wait for the origin. What was read until then can be gathered.
func (b *originBody) BeforeWait(flush func()) {
	if b.c != nil {
		b.c.beforeRead = flush
	}
}

// Close ends the connection if there is more to come.
func (b *originBody) Close() error {
	if b.err == nil {
		b.err = errBodyClosed
	}
	if b.c != nil {
		b.reusable = false
		b.release()
	}
	return nil
}

// release gives the connection up: to rest, if all that was said on it has been
// read, and nobody has closed it meanwhile.
func (b *originBody) release() {
	c := b.c
	b.c = nil
	if !b.stop() || !b.reusable || c.br.Buffered() > 0 {
		c.end()
		return
	}
	putReader(c.br)
	c.br, c.beforeRead, c.inBody = nil, nil, false
	c.from.keep(c)
}

// Waiter is the body of a response of [Origins].
type Waiter interface {
	io.ReadCloser
	BeforeWait(flush func())
}

var _ Waiter = (*originBody)(nil)
