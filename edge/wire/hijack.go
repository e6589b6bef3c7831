package wire

import (
	"bufio"
	"net"
	"net/http"
	"time"
)

// Conn is a connection whose next bytes can be looked at. Reads replay what
// was buffered, then read the connection directly.
type Conn struct {
	net.Conn
	br *bufio.Reader
}

// NewConn wraps c.
func NewConn(c net.Conn) *Conn { return &Conn{Conn: c, br: bufio.NewReaderSize(c, bufferSize)} }

// Peek returns the next n bytes without consuming them; see [bufio.Reader.Peek].
func (c *Conn) Peek(n int) ([]byte, error) { return c.br.Peek(n) }

// Buffered returns how many bytes were read ahead.
func (c *Conn) Buffered() int { return c.br.Buffered() }

func (c *Conn) Read(p []byte) (int, error) {
	if c.br.Buffered() > 0 {
		return c.br.Read(p)
	}
	return c.Conn.Read(p)
}

// CloseWrite ends the sending side if the connection can.
func (c *Conn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return nil
}

// SetLinger is [net.TCPConn.SetLinger] where there is TCP below.
func (c *Conn) SetLinger(sec int) error {
	if l, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		return l.SetLinger(sec)
	}
	return nil
}

// Hijack hands the connection over as a *[Conn] without deadlines. The second
// result reads from the same Conn, so whichever a caller uses, no byte that
// came early (a ClientHello sent along with CONNECT) is lost.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.watch.stop()
	w.k.wmu.Lock()
	defer w.k.wmu.Unlock()
	if w.k.hijacked {
		return nil, nil, http.ErrHijacked
	}
	if w.flush(); w.err != nil {
		return nil, nil, w.err
	}
	w.k.hijacked = true
	if err := w.k.nc.SetDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	c := &Conn{Conn: w.k.nc, br: w.k.br}
	putWriter(w.k.bw)
	return c, bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c)), nil
}
