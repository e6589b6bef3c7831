package edge

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
)

// buffers are for copying bodies and tunnels.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// stream is one side of a relay.
type stream interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// relay copies between a client and an upstream until both have ended. The end
// of one direction is passed on as such, because the other may go on for long
// (RFC 9293 §3.6); a failure, or the end of ctx, closes both sides. Idle sides
// end by themselves.
func relay(ctx context.Context, c *crossing, client, up stream) {
	closeBoth := func() {
		client.Close()
		up.Close()
	}
	stop := context.AfterFunc(ctx, closeBoth)
	defer stop()
	defer closeBoth()
	var wg sync.WaitGroup
	wg.Go(func() {
		if !pump(up, client, &meter{&c.up, c.slowUp}) {
			closeBoth()
		}
	})
	if !pump(client, up, &meter{&c.down, c.slowDown}) {
		closeBoth()
	}
	wg.Wait()
}

// pump copies until src ends, and passes the end on. It reports false if
// something failed.
func pump(dst, src stream, m *meter) bool {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	_, err := io.CopyBuffer(&meteredWriter{dst, m}, struct{ io.Reader }{src}, *buf)
	return err == nil && dst.CloseWrite() == nil
}

// meter counts the bytes of one direction and slows them down to what its
// boundary may take.
type meter struct {
	n    *atomic.Int64
	slow func(n int) error
}

type meteredWriter struct {
	w io.Writer
	m *meter
}

func (c *meteredWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.m.n.Add(int64(n))
	if err == nil {
		err = c.m.slow(n)
	}
	return n, err
}
