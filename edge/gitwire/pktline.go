package gitwire

import (
	"errors"
	"fmt"
	"io"
)

// maxPacket is the longest packet with its length (gitprotocol-common(5)).
const maxPacket = 65520

// kind is what a packet is.
type kind int

const (
	data  kind = iota
	flush      // ends a list
)

var errPacket = errors.New("malformed pkt-line")

// packets reads pkt-lines one by one, never beyond the one it returns, and keeps
// what it has read.
type packets struct {
	r     io.Reader
	raw   []byte
	limit int // of raw
}

// next returns the payload of the next packet, which is valid until the next
// call. A delimiter and a response's end, which no push has, are errors.
func (p *packets) next() ([]byte, kind, error) {
	head, err := p.take(4)
	if err != nil {
		return nil, 0, err
	}
	length := 0
	for _, c := range head {
		digit := unhex(c)
		if digit < 0 {
			return nil, 0, errPacket
		}
		length = length<<4 | digit
	}
	switch {
	case length == 0:
		return nil, flush, nil
	case length < 4 || length > maxPacket:
		return nil, 0, errPacket
	}
	payload, err := p.take(length - 4)
	return payload, data, err
}

// take reads n bytes.
func (p *packets) take(n int) ([]byte, error) {
	from := len(p.raw)
	if from+n > p.limit {
		return nil, fmt.Errorf("the list of a push is longer than %d bytes", p.limit)
	}
	p.raw = append(p.raw, make([]byte, n)...)
	if _, err := io.ReadFull(p.r, p.raw[from:]); err != nil {
		p.raw = p.raw[:from]
		return nil, fmt.Errorf("read pkt-line: %w", err)
	}
	return p.raw[from:], nil
}

// appendPacket appends a packet.
func appendPacket[T string | []byte](b []byte, payload T) []byte {
	return append(fmt.Appendf(b, "%04x", len(payload)+4), payload...)
}

const flushPacket = "0000"

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
