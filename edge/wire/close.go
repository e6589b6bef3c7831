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

// halfClosed reports whether a read error may be a client that only stopped
// sending.
func (w *watch) halfClosed(err error) bool {
	_, isTLS := w.k.nc.(*tls.Conn)
	return errors.Is(err, io.EOF) && !isTLS
}
