package wire

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

const (
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 256 << 10
)

// Linger closes c so that what was written to it arrives: it ends the sending
// side, then drops what the client is still sending for a short while. Closing
// with unread bytes would reset the connection and take the answer with it
// (RFC 9112 §9.6).
func Linger(c net.Conn) {
	defer c.Close()
	if cw, ok := c.(interface{ CloseWrite() error }); !ok || cw.CloseWrite() != nil {
		return
	}
	if c.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c, lingerBytes) // whatever it ends with, we close
}

// abort ends a connection so that what was written can't be taken for a whole
// response that ends with the connection: no close_notify, and a reset.
func abort(c net.Conn) {
	defer c.Close()
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
		defer c.Close() // before the TLS layer says good-bye
	}
	if l, ok := c.(interface{ SetLinger(int) error }); ok {
		_ = l.SetLinger(0) // without it the client sees an ordinary end
	}
}

// halfClosed reports whether a read error may be a client that only stopped
// sending.
func (w *watch) halfClosed(err error) bool {
	_, isTLS := w.k.nc.(*tls.Conn)
	return errors.Is(err, io.EOF) && !isTLS
}
