package load

import (
	"math/bits"
	"time"
)

// histogram counts durations in buckets of a sixteenth of an octave.
type histogram struct {
	n       int64
	buckets [64 << 4]int64
}

func bucket(d time.Duration) int {
	v := uint64(max(d, 1)) //nolint:gosec // positive
	top := bits.Len64(v) - 1
	return top<<4 | int(v<<(63-top)<<1>>60) //nolint:gosec // four bits
}

func (h *histogram) add(d time.Duration) {
	h.n++
	h.buckets[bucket(d)]++
}

func (h *histogram) merge(o *histogram) {
	h.n += o.n
	for i, n := range o.buckets {
		h.buckets[i] += n
	}
}

// quantile returns the middle of the bucket that q of all durations reach.
func (h *histogram) quantile(q float64) time.Duration {
	left := int64(q * float64(h.n))
	for i, n := range h.buckets {
		if left -= n; left < 0 {
			low := float64(uint64(1) << (i >> 4))
			return time.Duration(low * (1 + (float64(i&15)+.5)/16))
		}
	}
	return 0
}
