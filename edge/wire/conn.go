package wire

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server runs HTTP/1 connections. Handler and Reject are required. A Server
// may serve many connections at once.
type Server struct {
	// Handler answers each request. Its request context ends when it returns,
	// or when the client goes away. The header map keeps the Host field as it
	// was sent, beside r.Host, which an absolute-form target overrides.
	Handler http.Handler
	// Reject renders what was rejected before the handler saw it; r is nil if
	// nothing could be parsed. The connection closes afterwards.
	Reject func(w http.ResponseWriter, r *http.Request, err *Error)
	// Proxy says that absolute-form targets and CONNECT are in place.
	Proxy bool
	// HeadTimeout bounds the time from a head's first byte to its last, Idle
	// any wait for the next byte or the next request, in either direction.
	// Both are required.
	HeadTimeout, Idle time.Duration
	// MaxHead bounds a head in bytes; 0 means 64 KiB.
	MaxHead int
	// Log receives handler panics; nil discards them.
	Log *slog.Logger
}

const defaultMaxHead = 64 << 10

// conn is one client connection between requests. One goroutine, that of
// ServeConn, owns it; what others may touch says so.
type conn struct {
	srv *Server
	nc  net.Conn
	br  *bufio.Reader
	bw  *bufio.Writer
	// wmu guards bw: a response, and the 100 (Continue) that reading a body
	// sends, come from different goroutines.
	wmu sync.Mutex

	hijacked bool
}

// ServeConn runs c until it ends, which it does when the client closes it,
// after a rejected request, when ctx is done, or when a handler hijacks it. It
// closes c unless it was hijacked.
func (s *Server) ServeConn(ctx context.Context, c net.Conn) {
	k := &conn{srv: s, nc: c, br: getReader(c), bw: getWriter(c)}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	for k.serveOne(ctx) {
	}
	if k.hijacked {
		return // the new owner has the reader
	}
	putReader(k.br)
	putWriter(k.bw)
	c.Close()
}

// serveOne handles one request and reports whether another may follow.
func (k *conn) serveOne(ctx context.Context) bool {
	if !k.awaitRequest() {
		return false
	}
	r, h, err := k.readRequest()
	if err != nil {
		var bad *Error
		if errors.As(err, &bad) {
			k.reject(r, bad)
		}
		return false
	}
	return k.handle(ctx, r, h)
}

// awaitRequest waits for the first byte of a request.
func (k *conn) awaitRequest() bool {
	if k.br.Buffered() > 0 {
		return true // pipelined
	}
	if k.nc.SetReadDeadline(time.Now().Add(k.srv.Idle)) != nil {
		return false
	}
	_, err := k.br.Peek(1)
	return err == nil
}

// reject answers a request that no handler saw, and makes sure that the answer
// isn't lost to a reset because the client is still sending.
func (k *conn) reject(r *http.Request, bad *Error) {
	w := newResponse(k, r)
	w.closing = true
	k.srv.Reject(w, r, bad)
	if w.finish() == nil {
		Linger(k.nc)
	}
}

func (k *conn) logPanic(ctx context.Context, v any) {
	if k.srv.Log != nil {
		k.srv.Log.ErrorContext(ctx, "handler panicked", "panic", v)
	}
}
