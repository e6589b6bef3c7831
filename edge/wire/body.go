package wire

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// body is the body of a request. A transport reads it from a goroutine of its
// own and may still do so when the handler has returned.
type body struct {
	k *conn
	w *response

	mu       sync.Mutex // held during a read
	src      io.Reader
	left     int64 // of a body with Content-Length; -1 for a chunked one
	expect   bool  // the client waits for 100 (Continue)
	err      error // sticky
	complete bool

	// over is set once no read may wait any more. A read looks at it after it
	// has set its deadline, finish sets the deadline after it: whichever comes
	// last ends the read.
	over atomic.Bool
}

func newBody(k *conn, w *response, r *http.Request, h *head) *body {
	b := &body{k: k, w: w, left: h.framing.length, expect: h.expectContinue && !h.http10}
	b.src = k.br
	if h.framing.chunked {
		b.left = -1
		b.src = &chunkedReader{br: k.br, trailer: r.Trailer}
	}
	return b
}

// Read reads the next bytes. Malformed chunks are an *Error; an early end is
// [io.ErrUnexpectedEOF], never io.EOF.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return 0, b.err
	}
	if b.expect {
		b.expect = false
		if !b.w.sendContinue() {
			b.err = errClosedBody
			return 0, b.err
		}
	}
	if b.err = b.k.nc.SetReadDeadline(time.Now().Add(b.k.srv.Idle)); b.err != nil {
		return 0, b.err
	}
	if b.over.Load() {
		b.err = errClosedBody
		return 0, b.err
	}
	n, err := b.read(p)
	b.err = err
	if errors.Is(err, io.EOF) {
		b.complete = true
		_ = b.k.nc.SetReadDeadline(time.Time{}) // the next read sets its own
		b.w.watch.arm()
	}
	return n, err
}

func (b *body) read(p []byte) (int, error) {
	if b.left < 0 {
		return b.src.Read(p)
	}
	n, err := b.src.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if b.left == 0 {
		return n, io.EOF
	}
	if err != nil {
		err = unexpected(err)
	}
	return n, err
}

// Close does nothing: what is left unread is dealt with once the handler has
// returned, on the goroutine that owns the connection.
func (b *body) Close() error { return nil }

// arrived reports whether the whole body is in the buffer.
func (b *body) arrived() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err == nil && !b.expect && b.left >= 0 && b.left <= int64(b.k.br.Buffered())
}

// discardBuffered drops a body that has arrived as a whole but that nobody
// read, so that the connection can be kept. It never waits.
func (b *body) discardBuffered() (complete bool) {
	if !b.mu.TryLock() {
		return false
	}
	defer b.mu.Unlock()
	if b.complete {
		return true
	}
	if b.err != nil || b.left < 0 || b.left > int64(b.k.br.Buffered()) {
		return false
	}
	if _, err := b.k.br.Discard(int(b.left)); err != nil {
		return false
	}
	b.left, b.err, b.complete = 0, errClosedBody, true
	return true
}

// finish takes the body away from whoever still reads it, and reports whether
// all of it has been read.
func (b *body) finish() (complete bool) {
	b.over.Store(true)
	if !b.mu.TryLock() {
		// A read may be waiting for a client that has no reason to send more.
		_ = b.k.nc.SetReadDeadline(past)
		b.mu.Lock()
	}
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = errClosedBody
	}
	return b.complete
}

// past is a deadline that ends a read at once.
var past = time.Unix(1, 0)

var _ io.ReadCloser = (*body)(nil)
var _ http.ResponseWriter = (*response)(nil)
