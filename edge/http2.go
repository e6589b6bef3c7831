package edge

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"golang.org/x/net/http2"
)

const (
	h2Streams     = 128
	h2StreamBytes = 256 << 10 // not yet read by the upstream, a stream
	h2ConnBytes   = 1 << 20   // and a connection
	maxHead       = 64 << 10
)

// newHTTP2Server returns the settings towards HTTP/2 clients: everything that
// a client can make us hold is bounded.
func newHTTP2Server(t Timeouts) *http2.Server {
	return &http2.Server{
		MaxConcurrentStreams:         h2Streams,
		MaxUploadBufferPerStream:     h2StreamBytes,
		MaxUploadBufferPerConnection: h2ConnBytes,
		IdleTimeout:                  t.Idle,
		WriteByteTimeout:             t.Idle,
	}
}

// serveHTTP2 serves the streams of an HTTP/2 connection. Each is a request of
// its own and passes the gate by itself. It returns once all handlers have.
func (e *Edge) serveHTTP2(ctx context.Context, f *flow, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	streams := &streams{}
	e.h2.ServeConn(conn, &http2.ServeConnOpts{
		Context: ctx,
		BaseConfig: &http.Server{
			MaxHeaderBytes: maxHead,
			ErrorLog:       slog.NewLogLogger(e.opts.Log.Handler(), slog.LevelDebug),
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !streams.enter() {
				return
			}
			defer streams.leave()
			e.serveRequest(f, w, r)
		}),
	})
	streams.close()
}

// streams counts handlers. ServeConn returns while some are still running, or
// haven't even begun, which a WaitGroup can't express.
type streams struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // made by close, closed by the last to leave
}

func (s *streams) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.n++
	return true
}

func (s *streams) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n--; s.n == 0 && s.closed {
		close(s.idle)
	}
}

// close lets no handler in any more and waits for those inside.
func (s *streams) close() {
	s.mu.Lock()
	s.closed = true
	s.idle = make(chan struct{})
	if s.n == 0 {
		close(s.idle)
	}
	s.mu.Unlock()
	<-s.idle
}
