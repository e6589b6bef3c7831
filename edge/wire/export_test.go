package wire

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"time"
)

// ParseHead checks and parses a raw head as ServeConn does.
func ParseHead(raw []byte, proxy bool) (*http.Request, error) {
	br := bufio.NewReader(bytes.NewReader(raw))
	head, err := readHead(br, nil, defaultMaxHead)
	if err != nil {
		return nil, err
	}
	h, bad := checkHead(head, proxy)
	if bad != nil {
		return nil, bad
	}
	r, bad := parse(head, h)
	if bad != nil {
		return nil, bad
	}
	return r, nil
}

// Chunked returns the strict decoder of chunked bodies.
func Chunked(br *bufio.Reader, trailer http.Header) io.Reader {
	return &chunkedReader{br: br, trailer: trailer}
}

// ReadReply reads one response as Origins does; there is no connection that
// could rest afterwards.
func ReadReply(br *bufio.Reader, method string) (*http.Response, error) {
	r := &http.Request{Method: method}
	raw, err := readHead(br, nil, defaultMaxHead)
	if err != nil {
		return nil, err
	}
	h, bad := checkReply(raw)
	if bad != nil {
		return nil, bad
	}
	resp, bad := parseReply(raw, h, r)
	if bad != nil {
		return nil, bad
	}
	near, far := net.Pipe()
	far.Close()
	c := newOriginConn(&Origins{Idle: time.Minute}, origin{}, near)
	c.br = br
	return c.respond(r, h, resp, func() bool { return false }), nil
}
