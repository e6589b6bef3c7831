package edge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// front is one Serve call: its connections, and the crossings on them.
type front struct {
	edge *Edge
	live *live
	wg   sync.WaitGroup
}

// ServeProxy serves the explicit proxy (CONNECT and absolute-form) on ln, which
// it closes, until ctx is done. Connections belong to the boundary named
// boundaryID; if that is empty, each request proves its boundary by proxy
// credentials and is answered 407 otherwise. It returns once every connection
// has ended, with nil if ctx or the listener was closed.
func (e *Edge) ServeProxy(ctx context.Context, ln net.Listener, boundaryID string) error {
	return e.serve(ctx, ln, func(ctx context.Context, f *front, conn net.Conn) {
		e.proxyConn(ctx, f, conn, boundaryID)
	})
}

// ServeTransparent serves redirected connections of the boundary named
// boundaryID on ln, whose connections have the original destination as their
// local address; those to port 53 are DNS over TCP. It is otherwise like
// ServeProxy.
func (e *Edge) ServeTransparent(ctx context.Context, ln net.Listener, boundaryID string) error {
	dns := e.resolver(boundaryID)
	return e.serve(ctx, ln, func(ctx context.Context, f *front, conn net.Conn) {
		e.transparentConn(ctx, f, conn, boundaryID, dns)
	})
}

// serve runs handle for each connection, in a goroutine that it joins.
func (e *Edge) serve(ctx context.Context, ln net.Listener, handle func(context.Context, *front, net.Conn)) error {
	ctx, cancel := context.WithCancel(ctx)
	f := &front{edge: e, live: newLive(e.gate)}
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	e.lanes.enter()
	e.doors.add(ln)
	defer func() {
		e.doors.remove(ln)
		stop()
		ln.Close()
		cancel()
		f.wg.Wait()
		f.live.end()
		e.lanes.leave()
	}()
	for delay := time.Duration(0); ; {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			delay = 0
			f.wg.Go(func() {
				stop := context.AfterFunc(ctx, func() { conn.Close() })
				defer stop()
				defer conn.Close()
				handle(ctx, f, conn)
			})
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			if e.doors.isDraining() {
				<-ctx.Done() // what was accepted goes on until then
			}
			return nil
		case !isTemporary(err):
			return fmt.Errorf("accept connection: %w", err)
		default:
			delay = e.backOff(ctx, delay, err)
		}
	}
}

// isTemporary reports whether accepting may succeed later: no descriptors left
// (EMFILE), or a connection that was gone before it was accepted.
func isTemporary(err error) bool {
	// net.Error.Temporary is deprecated for want of a definition, but for
	// Accept it is what net/http goes by as well.
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// backOff waits a little longer each time, up to a second.
func (e *Edge) backOff(ctx context.Context, last time.Duration, err error) time.Duration {
	delay := min(max(2*last, 5*time.Millisecond), time.Second)
	e.opts.Log.ErrorContext(ctx, "accept connection failed", "error", err, "retry_in", delay)
	select {
	case <-ctx.Done():
	case <-time.After(delay):
	}
	return delay
}
