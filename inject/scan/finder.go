package scan

import (
	"bytes"
	"slices"
)

// MinNeedle is the least length of a needle in bytes. Shorter ones would be
// everywhere.
const MinNeedle = 4

const (
	// maxWindow keeps a shift in one byte.
	maxWindow = 64
	// blocks keeps the table of a Finder in the first-level cache, and a
	// thousand Finders in 8 MiB. ASCII pairs hardly collide.
	blocks = 1 << 13
)

// Finder finds any of a fixed set of needles. It is immutable and safe for
// concurrent use; nil finds nothing.
type Finder struct {
	needles [][]byte
	longest int
	window  int // how much of each needle the tables know
	// shift says for the last two bytes of a window how far the next one that
	// could match begins; 0 sends to bucket.
	shift  [blocks]uint8
	bucket map[uint16][]int // needles whose window ends so, the longest first
	begins [256][]int       // needles by first byte
}

// Match is where a needle stands in a text: at [Start, End).
type Match struct {
	Start, End int
	Needle     int // its index
}

// NewFinder returns a Finder of needles, each at least [MinNeedle] long, which
// is up to the caller: it panics otherwise. No needles make a nil Finder.
func NewFinder(needles [][]byte) *Finder {
	if len(needles) == 0 {
		return nil
	}
	f := &Finder{window: maxWindow, bucket: make(map[uint16][]int)}
	for i, n := range needles {
		if len(n) < MinNeedle {
			panic("scan: needle too short")
		}
		f.needles = append(f.needles, bytes.Clone(n))
		f.longest = max(f.longest, len(n))
		f.window = min(f.window, len(n))
		f.begins[n[0]] = append(f.begins[n[0]], i)
	}
	last := f.window - 2
	for i := range f.shift {
		f.shift[i] = uint8(last + 1) //nolint:gosec // at most maxWindow
	}
	for i, n := range f.needles {
		for at := range last + 1 {
			b := block(n[at], n[at+1])
			f.shift[b] = min(f.shift[b], uint8(last-at)) //nolint:gosec // at most maxWindow
		}
		b := block(n[last], n[last+1])
		f.bucket[b] = append(f.bucket[b], i)
	}
	for _, list := range f.bucket {
		slices.SortStableFunc(list, func(a, b int) int { return len(f.needles[b]) - len(f.needles[a]) })
	}
	return f
}

func block(a, b byte) uint16 { return (uint16(a)<<6 ^ uint16(b)) % blocks }

// Longest returns the length of the longest needle.
func (f *Finder) Longest() int {
	if f == nil {
		return 0
	}
	return f.longest
}

// Find returns the leftmost match that begins at from or later, and of those
// that begin there the longest. It allocates nothing.
func (f *Finder) Find(text []byte, from int) (Match, bool) { return find(f, text, from) }

// FindString is Find in a string.
func (f *Finder) FindString(text string, from int) (Match, bool) { return find(f, text, from) }

func find[T string | []byte](f *Finder, text T, from int) (Match, bool) {
	if f == nil {
		return Match{}, false
	}
	last := f.window - 2
	for i := from + last; i+1 < len(text); {
		b := block(text[i], text[i+1])
		if s := f.shift[b]; s > 0 {
			i += int(s)
			continue
		}
		for _, n := range f.bucket[b] {
			if hasPrefix(text[i-last:], f.needles[n]) {
				return Match{Start: i - last, End: i - last + len(f.needles[n]), Needle: n}, true
			}
		}
		i++
	}
	return Match{}, false
}

func hasPrefix[T string | []byte](text T, prefix []byte) bool {
	return len(text) >= len(prefix) && string(text[:len(prefix)]) == string(prefix)
}

// Tail returns where the end of text begins that could grow into a needle, at
// from or later; len(text) if no end could.
func (f *Finder) Tail(text []byte, from int) int {
	if f == nil {
		return len(text)
	}
	for at := max(from, len(text)-f.longest+1); at < len(text); at++ {
		for _, n := range f.begins[text[at]] {
			if rest := text[at:]; len(f.needles[n]) > len(rest) && bytes.HasPrefix(f.needles[n], rest) {
				return at
			}
		}
	}
	return len(text)
}
