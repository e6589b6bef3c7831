package control

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

var errTooManyDescriptors = fmt.Errorf("more than %d descriptors in one message", maxDescriptors)

// rightsConn is a unix connection that keeps the descriptors which arrive
// beside its bytes until the handler takes them. Since a connection carries
// one request, they are all that request's. Close closes those that nobody
// took.
type rightsConn struct {
	net.Conn
	unix *net.UnixConn

	mu       sync.Mutex // guards what follows
	received []*os.File
	closed   bool
}

func newRightsConn(c *net.UnixConn) *rightsConn { return &rightsConn{Conn: c, unix: c} }

// Read implements io.Reader. Go sets MSG_CMSG_CLOEXEC, so that a descriptor
// never reaches a child of ours by accident.
func (c *rightsConn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	control := make([]byte, unix.CmsgSpace(maxDescriptors*4))
	n, controlLen, flags, _, err := c.unix.ReadMsgUnix(p, control)
	if keepErr := c.keep(control[:controlLen]); keepErr != nil {
		return 0, keepErr
	}
	if flags&unix.MSG_CTRUNC != 0 {
		return 0, errTooManyDescriptors
	}
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return n, err
}

// keep stores the descriptors in the given control messages, or closes them
// when the connection is closed or has brought too many.
func (c *rightsConn) keep(control []byte) error {
	if len(control) == 0 {
		return nil
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return fmt.Errorf("parse control message: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue // another kind of control message carries no descriptor
		}
		for _, fd := range fds {
			c.received = append(c.received, os.NewFile(uintptr(fd), "received"))
		}
	}
	if !c.closed && len(c.received) <= maxDescriptors {
		return nil
	}
	closeFiles(c.received)
	c.received = nil
	if c.closed {
		return net.ErrClosed
	}
	return errTooManyDescriptors
}

// take hands the descriptors that have arrived over to the caller, who closes
// them.
func (c *rightsConn) take() []*os.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	files := c.received
	c.received = nil
	return files
}

// Close implements io.Closer.
func (c *rightsConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	closeFiles(c.take())
	return c.Conn.Close()
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// sendConn is the client's end: it sends descriptors with its first bytes.
type sendConn struct {
	*net.UnixConn
	descriptors []int // sent with the first Write
}

// Write implements io.Writer.
func (c *sendConn) Write(p []byte) (int, error) {
	if len(c.descriptors) == 0 || len(p) == 0 {
		return c.UnixConn.Write(p)
	}
	// The whole of p may not fit the socket's buffer; the descriptors go with
	// whatever does, the rest follows as plain bytes.
	n, _, err := c.WriteMsgUnix(p, unix.UnixRights(c.descriptors...), nil)
	if err != nil {
		return n, err
	}
	c.descriptors = nil
	if n == len(p) {
		return n, nil
	}
	more, err := c.UnixConn.Write(p[n:])
	return n + more, err
}

// asListener makes a listener of a received descriptor, which it doesn't
// close. A socket that doesn't listen, or isn't of the family that kind needs,
// is refused.
func asListener(f *os.File, kind ListenerKind) (net.Listener, error) {
	if err := requireListening(f); err != nil {
		return nil, err
	}
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	_, isTCP := ln.(*net.TCPListener)
	_, isUnix := ln.(*net.UnixListener)
	switch {
	case kind == ListenBroker && !isUnix:
		ln.Close()
		return nil, errors.New("expected a unix stream socket")
	case kind != ListenBroker && !isTCP:
		ln.Close()
		return nil, errors.New("expected a TCP socket")
	}
	return ln, nil
}

func requireListening(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var listens int
	var optErr error
	if err := raw.Control(func(fd uintptr) {
		listens, optErr = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	}); err != nil {
		return err
	}
	if optErr != nil {
		return errors.New("expected a socket")
	}
	if listens == 0 {
		return errors.New("expected a listening socket")
	}
	return nil
}

// asPacketConn makes a UDP socket of a received descriptor, which it doesn't
// close.
func asPacketConn(f *os.File) (*net.UDPConn, error) {
	pc, err := net.FilePacketConn(f)
	if err != nil {
		return nil, err
	}
	conn, isUDP := pc.(*net.UDPConn)
	if !isUDP {
		pc.Close()
		return nil, errors.New("expected a UDP socket")
	}
	return conn, nil
}
