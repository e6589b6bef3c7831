package edge

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
)

const (
	h2Streams     = 128
	h2StreamBytes = 256 << 10 // not yet read by the upstream, a stream
	h2ConnBytes   = 1 << 20   // and a connection
	maxHead       = 64 << 10
)

// serveHTTP2 serves the streams of a TLS connection on which HTTP/2 was agreed.
// Each is a request of its own and passes the gate by itself; everything that a
// client can make us hold is bounded. It returns once all handlers have.
func (e *Edge) serveHTTP2(ctx context.Context, f *flow, conn net.Conn) {
	streams := &streams{}
	ln := &oneConn{conn: conn, closed: make(chan struct{})}
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !streams.enter() {
				return
			}
			defer streams.leave()
			e.serveRequest(f, w, r)
		}),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState:         ln.state,
		ReadHeaderTimeout: e.opts.Timeouts.Header,
		IdleTimeout:       e.opts.Timeouts.Idle,
		MaxHeaderBytes:    maxHead,
		ErrorLog:          slog.NewLogLogger(e.opts.Log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          h2Streams,
			MaxReceiveBufferPerStream:     h2StreamBytes,
			MaxReceiveBufferPerConnection: h2ConnBytes,
			SendPingTimeout:               pingAfter,
			PingTimeout:                   pingTime,
			WriteByteTimeout:              e.opts.Timeouts.Idle,
		},
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	_ = srv.Serve(ln) // always ends with the listener's net.ErrClosed
	streams.close()
}

// oneConn is a listener that has one connection to accept and closes with it.
// net/http has no other way to serve a connection that is there already;
// x/net/http2 has, but its server is deprecated.
type oneConn struct {
	conn     net.Conn
	accepted bool
	closing  sync.Once
	closed   chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if !l.accepted {
		l.accepted = true
		return l.conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

// Close does nothing: Serve closes its listener only once Accept has failed.
func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }

func (l *oneConn) state(_ net.Conn, s http.ConnState) {
	if s == http.StateClosed {
		l.closing.Do(func() { close(l.closed) })
	}
}

// streams counts handlers. Serving a connection ends while some are still
// running, or haven't even begun, which a WaitGroup can't express.
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
