package edge

import (
	"encoding/binary"

	"github.com/sallyport/sallyport/inject/scan"
)

// frames tells the payload of WebSocket frames from what is around it (RFC 6455
// §5.2).
type frames struct {
	head   [14]byte
	n      int    // how much of head is there
	left   uint64 // of the payload
	masked bool
	mask   [4]byte
	at     int // in mask
}

// step consumes the beginning of b, which isn't empty: one byte of a head, or
// as much payload as there is. end says that the frame is complete.
func (f *frames) step(b []byte) (n int, payload, end bool) {
	if f.left > 0 {
		n = len(b)
		if uint64(n) > f.left {
			n = int(f.left) //nolint:gosec // less than len(b)
		}
		f.left -= uint64(n) //nolint:gosec // not negative
		return n, true, f.left == 0
	}
	f.head[f.n] = b[0]
	f.n++
	if f.n < 2 || f.n < f.headLen() {
		return 1, false, false
	}
	f.open()
	return 1, false, f.left == 0
}

func (f *frames) headLen() int {
	n := 2
	switch f.head[1] & 0x7f {
	case 126:
		n += 2
	case 127:
		n += 8
	}
	if f.head[1]&0x80 != 0 {
		n += 4
	}
	return n
}

// open reads a complete head.
func (f *frames) open() {
	switch n := f.head[1] & 0x7f; n {
	case 126:
		f.left = uint64(binary.BigEndian.Uint16(f.head[2:]))
	case 127:
		f.left = binary.BigEndian.Uint64(f.head[2:])
	default:
		f.left = uint64(n)
	}
	f.masked, f.at = f.head[1]&0x80 != 0, 0
	if f.masked {
		copy(f.mask[:], f.head[f.n-4:])
	}
	f.n = 0
}

// unmask appends a piece of payload to dst as its sender meant it.
func (f *frames) unmask(dst, piece []byte) []byte {
	if !f.masked {
		return append(dst, piece...)
	}
	for _, c := range piece {
		dst = append(dst, c^f.mask[f.at&3])
		f.at++
	}
	return dst
}

// watchedFrames is a client's side whose messages are looked through. Pieces
// that may not leave end it.
type watchedFrames struct {
	stream
	frames frames
	look   func([]byte) error
	plain  []byte
}

func (w *watchedFrames) Read(p []byte) (int, error) {
	n, err := w.stream.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		used, payload, _ := w.frames.step(rest)
		if payload {
			w.plain = w.frames.unmask(w.plain[:0], rest[:used])
			if refused := w.look(w.plain); refused != nil {
				return 0, refused
			}
		}
		rest = rest[used:]
	}
	return n, err
}

// scrubbedFrames is an upstream's side from whose frames secrets are taken. The
// stand-ins are of equal length, so that frames keep theirs; a secret that the
// upstream spreads over several frames isn't seen.
type scrubbedFrames struct {
	stream
	frames frames
	text   *scan.Stream // of the frame under way, fitted
	buf    []byte
	out    []byte
	err    error
}

func (s *scrubbedFrames) Read(p []byte) (int, error) {
	for len(s.out) == 0 && s.err == nil {
		s.buf = s.buf[:0]
		var n int
		n, s.err = s.stream.Read(p)
		for rest := p[:n]; len(rest) > 0; {
			used, payload, end := s.frames.step(rest)
			if payload {
				s.buf = s.text.Append(s.buf, rest[:used])
			} else {
				s.buf = append(s.buf, rest[:used]...)
			}
			if end {
				s.buf = s.text.Close(s.buf)
			}
			rest = rest[used:]
		}
		s.out = s.buf
	}
	if len(s.out) == 0 {
		return 0, s.err
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}
