package edge

import (
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// idleConn is a connection that ends once no byte has passed in either
// direction for a while. There is no total (decision 28).
type idleConn struct {
	net.Conn
	idle  time.Duration
	armed atomic.Int64 // when the deadlines were last set, Unix nanoseconds
}

func newIdleConn(c net.Conn, idle time.Duration) *idleConn {
	return &idleConn{Conn: c, idle: idle}
}

func (c *idleConn) Read(p []byte) (int, error) {
	if err := c.arm(); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *idleConn) Write(p []byte) (int, error) {
	if err := c.arm(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// arm moves both deadlines, a pending read's included, but not for every
// packet: being late by a small part of the idle time doesn't matter.
func (c *idleConn) arm() error {
	now := time.Now()
	last := c.armed.Load()
	if now.UnixNano()-last < int64(c.idle/16) || !c.armed.CompareAndSwap(last, now.UnixNano()) {
		return nil
	}
	return c.SetDeadline(now.Add(c.idle))
}

var errNoHalfClose = errors.New("connection can't be half-closed")

// CloseWrite ends the sending side.
func (c *idleConn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c any) error {
	if cw, ok := c.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return errNoHalfClose
}
