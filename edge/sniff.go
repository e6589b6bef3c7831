package edge

import (
	"bytes"
	"errors"
	"os"
	"time"

	"github.com/sallyport/sallyport/edge/wire"
)

// kind is what the first bytes of a client look like.
type kind uint8

const (
	kindGone   kind = iota // the client left, or doesn't make up its mind
	kindSilent             // it waits for its server to speak first
	kindTLS
	kindHTTP
	kindOpaque
)

const (
	tlsHandshake = 0x16 // the content type of a ClientHello's record (RFC 8446 §5.1)
	maxSniff     = 32
)

// sniff looks at a client's first bytes without consuming them. It waits for
// the first one as long as first, for those that complete a method as long as
// rest.
func sniff(c *wire.Conn, first, rest time.Duration) kind {
	defer forever(c)
	if c.SetReadDeadline(time.Now().Add(first)) != nil {
		return kindGone
	}
	if _, err := c.Peek(1); err != nil {
		return gone(err)
	}
	return sniffRest(c, rest)
}

// gone tells a client that hasn't sent anything yet from one that has left.
func gone(err error) kind {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return kindSilent
	}
	return kindGone
}

// sniffRest is sniff once the first byte is there.
func sniffRest(c *wire.Conn, rest time.Duration) kind {
	defer forever(c)
	if c.SetReadDeadline(time.Now().Add(rest)) != nil {
		return kindGone
	}
	for n := 1; n <= maxSniff; n++ {
		b, err := c.Peek(max(n, min(c.Buffered(), maxSniff)))
		if err != nil {
			return kindGone
		}
		if k, sure := classify(b); sure {
			return k
		}
		n = len(b)
	}
	return kindOpaque
}

// forever takes a read deadline off. On a dead connection it fails, and so will
// the next read.
func forever(c *wire.Conn) { _ = c.SetReadDeadline(time.Time{}) }

// classify tells protocols apart. HTTP begins with a method, a space and the
// first byte of a target; "PING" to Redis and "SSH-2.0" are neither.
func classify(b []byte) (k kind, sure bool) {
	if b[0] == tlsHandshake {
		return kindTLS, true
	}
	end := bytes.IndexFunc(b, func(c rune) bool {
		return (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_'
	})
	switch {
	case end < 0:
		return kindGone, false
	case end == 0 || b[end] != ' ':
		return kindOpaque, true
	case len(b) == end+1:
		return kindGone, false
	}
	switch b[end+1] {
	case '/', '*', 'h', 'H':
		return kindHTTP, true
	}
	// CONNECT has an authority as its target; it is refused as HTTP.
	if bytes.EqualFold(b[:end], []byte("CONNECT")) {
		return kindHTTP, true
	}
	return kindOpaque, true
}
