package load

import (
	"bytes"
	"errors"
	"hash/fnv"
	"io"
	"strconv"
)

const mib = 1 << 20

// Every body is known beforehand, so both ends can compare what they get.
var (
	small = bytes.Repeat([]byte("a response of one KiB as JSON. "), 1024/31+1)[:1024]
	piece = incompressible()
)

// incompressible is one MiB that repeats only as a whole.
func incompressible() []byte {
	b := make([]byte, mib)
	x := uint32(2463534242)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x >> 24)
	}
	return b
}

// Proof is how the origin shows that it has seen an Authorization without
// sending it back, which a proxy that scrubs would disturb.
func Proof(authorization string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, authorization)
	return strconv.FormatUint(h.Sum64(), 16)
}

var errBody = errors.New("body is not what was sent")

// same reads exactly n bytes that have to be want, over and over. each is
// called for every MiB.
func same(r io.Reader, n int64, want, buf []byte, each func()) error {
	at, whole := 0, int64(0)
	for left := n; left > 0; {
		k, err := r.Read(buf[:min(int64(len(buf)), left)])
		left -= int64(k)
		for got := buf[:k]; len(got) > 0; {
			m := min(len(got), len(want)-at)
			if !bytes.Equal(got[:m], want[at:at+m]) {
				return errBody
			}
			got, at = got[m:], (at+m)%len(want)
		}
		for ; each != nil && whole < (n-left)/mib; whole++ {
			each()
		}
		if err != nil && left > 0 {
			return err
		}
	}
	return nil
}
