package gitwire

import (
	"encoding/binary"
	"errors"
)

var errDelta = errors.New("malformed delta")

// applyDelta makes an object of its base (gitformat-pack(5), "Deltified
// representation"). The result is no longer than a commit may be.
func applyDelta(base, delta []byte) ([]byte, error) {
	from, n := binary.Uvarint(delta)
	if n <= 0 || from != uint64(len(base)) {
		return nil, errDelta
	}
	delta = delta[n:]
	size, n := binary.Uvarint(delta)
	if n <= 0 || size > maxCommit {
		return nil, errDelta
	}
	delta = delta[n:]
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		var piece []byte
		switch {
		case op&0x80 != 0:
			var offset, length int
			if offset, length, delta = copyOf(op, delta); delta == nil || offset+length > len(base) {
				return nil, errDelta
			}
			piece = base[offset : offset+length]
		case op == 0 || int(op) > len(delta):
			return nil, errDelta
		default:
			piece, delta = delta[:op], delta[op:]
		}
		if uint64(len(out)+len(piece)) > size {
			return nil, errDelta
		}
		out = append(out, piece...)
	}
	if uint64(len(out)) != size {
		return nil, errDelta
	}
	return out, nil
}

// copyOf reads the place and length of a copy, and returns the rest; nil for the
// rest means that it is cut off.
func copyOf(op byte, delta []byte) (offset, length int, rest []byte) {
	for bit := range 7 {
		if op&(1<<bit) == 0 {
			continue
		}
		if len(delta) == 0 {
			return 0, 0, nil
		}
		if bit < 4 {
			offset |= int(delta[0]) << (8 * bit)
		} else {
			length |= int(delta[0]) << (8 * (bit - 4))
		}
		delta = delta[1:]
	}
	if length == 0 {
		length = 1 << 16
	}
	if delta == nil {
		delta = []byte{}
	}
	return offset, length, delta
}
