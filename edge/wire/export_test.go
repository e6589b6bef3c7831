package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
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
