package edge

import (
	"errors"
	"io"
	"net/http"
)

// countedBody wraps the body of r. An empty one becomes NoBody: a transport
// takes any other of length 0 for one whose length isn't known and sends it
// chunked, and HTTP/2 servers make a body even for a stream that has ended.
func (c *crossing) countedBody(r *http.Request) io.ReadCloser {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return http.NoBody
	}
	return &requestBody{c: c, body: r.Body}
}

// requestBody counts what goes up and remembers why it ended early, which a
// transport's error doesn't tell.
type requestBody struct {
	c    *crossing
	body io.ReadCloser
}

func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.c.up.Add(int64(n))
	if slow := b.c.slowUp; slow != nil && slow(n) != nil {
		return n, b.c.cause()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.c.upErr.CompareAndSwap(nil, &err)
	}
	return n, err
}

func (b *requestBody) Close() error { return b.body.Close() }

// responseBody counts what comes down. Closing it ends the crossing; an early
// end of the upstream's body is kept for whoever has to tell the client.
type responseBody struct {
	c    *crossing
	body io.ReadCloser
	err  error // other than io.EOF
}

func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.c.down.Add(int64(n))
	if slow := b.c.slowDown; slow != nil && slow(n) != nil {
		err = b.c.cause()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

func (b *responseBody) Close() error {
	err := b.body.Close()
	b.c.finish(b.err)
	return err
}
