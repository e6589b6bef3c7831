package main

import (
	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

// maxDescriptors is the kernel's limit for one packet (SCM_MAX_FD).
const maxDescriptors = 253

// control is this end of the socket pair.
type control struct{ fd int }

type request struct {
	message wire.Message
	fds     []int
}

// receive waits for the next request; ok is false when there are no more.
func (c *control) receive() (r request, ok bool) {
	b := make([]byte, wire.MaxPacket)
	oob := make([]byte, unix.CmsgSpace(maxDescriptors*4))
	for {
		n, on, flags, _, err := unix.Recvmsg(c.fd, b, oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 || flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
			return request{}, false
		}
		m, err := wire.ParseMessage(b[:n])
		if err != nil {
			return request{}, false
		}
		return request{message: m, fds: descriptors(oob[:on])}, true
	}
}

// send sends a message and, if there are any, descriptors. Nobody is left to
// tell when it fails: then receive fails too.
func (c *control) send(m wire.Message, fds ...int) {
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	b := m.Append(nil)
	for unix.Sendmsg(c.fd, b, oob, nil, 0) == unix.EINTR {
	}
}

func descriptors(oob []byte) []int {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var all []int
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err == nil {
			all = append(all, fds...)
		}
	}
	return all
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// readAll reads a memory file from its start.
func readAll(fd int) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	b := make([]byte, st.Size)
	for at := 0; at < len(b); {
		n, err := unix.Pread(fd, b[at:], int64(at))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, wire.ErrMalformed
		}
		at += n
	}
	return b, nil
}
