package wire

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// quiet reports whether nothing has come on a connection at rest: neither its
// end nor bytes. An origin that speaks out of turn would have its words taken
// for the answer to the next request.
func (c *originConn) quiet() bool {
	nc := c.nc
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	for {
		if raw, ok := nc.(syscall.Conn); ok {
			return nothingToRead(raw)
		}
		below, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			return true // it fails when it is used
		}
		nc = below.NetConn()
	}
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
