package wire

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// quiet reports whether nothing has come on a connection at rest: neither its
// end nor bytes. An origin that speaks out of turn would have its words taken
// for the answer to the next request.
func (c *originConn) quiet() bool {
	t, secured := c.nc.(*tls.Conn)
	nc := c.nc
	if secured {
		nc = t.NetConn()
	}
	for {
		if raw, ok := nc.(syscall.Conn); ok {
			// The socket first: nothing looks at one whose deadline has passed.
			return nothingToRead(raw) && (!secured || c.allRead(t))
		}
		below, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			return true // it fails when it is used
		}
		nc = below.NetConn()
	}
}

// allRead reports whether nothing is left of the records that TLS has taken in:
// what shares one with the end of a response is in no socket any more.
func (c *originConn) allRead(t *tls.Conn) bool {
	if t.SetReadDeadline(past) != nil {
		return false
	}
	c.until = time.Time{}
	var one [1]byte
	n, err := t.Read(one[:]) // from memory, or not at all
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
}

func nothingToRead(conn syscall.Conn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	nothing := false
	err = raw.Read(func(fd uintptr) bool {
		var one [1]byte
		_, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT) //nolint:gosec // a descriptor
		nothing = errors.Is(err, unix.EAGAIN)
		return true
	})
	return err == nil && nothing
}
