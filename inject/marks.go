package inject

import (
	"encoding/base64"
	"math"
	"strings"

	"github.com/sallyport/sallyport/inject/scan"
)

// markLen bounds a mark: that much of a prefix's end is looked for.
const markLen = 9

// marks find the beginnings of placeholders in a text: the end of each prefix
// in use, as it is and in base64 wherever it may stand in what was encoded. A
// hundred thousand placeholders of one shape cost as much as one.
type marks struct {
	finder *scan.Finder
	raw    *scan.Finder // without base64; its needles index folded
	folded *scan.Finder // raw in lower case
	found  []mark       // beside the needles of finder; those of raw come first
	before int          // the longest prefix
	length int          // the longest placeholder
	least  int          // the shortest
}

// mark is one needle: what may have been found with it.
type mark struct {
	// skip is how many characters of a base64 group stand before the needle;
	// -1 if it isn't base64.
	skip  int
	forms []form
}

func newMarks(shapes map[form]int) *marks {
	if len(shapes) == 0 {
		return nil
	}
	m := &marks{least: math.MaxInt}
	byMark := make(map[string][]form)
	for f := range shapes {
		text := f.prefix[max(0, len(f.prefix)-markLen):]
		byMark[text] = append(byMark[text], f)
		m.before, m.length = max(m.before, len(f.prefix)), max(m.length, f.length)
		m.least = min(m.least, f.length)
	}
	var needles, folded [][]byte
	for text, forms := range byMark {
		needles = append(needles, []byte(text))
		folded = append(folded, []byte(strings.ToLower(text)))
		m.found = append(m.found, mark{-1, forms})
	}
	m.raw, m.folded = scan.NewFinder(needles), scan.NewFinder(folded)
	for text, forms := range byMark {
		for _, alphabet := range [...]*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			for before := range 3 {
				needle := scan.Core(alphabet, before, []byte(text))
				needles = append(needles, []byte(needle))
				m.found = append(m.found, mark{(before*8 + 5) / 6, forms})
			}
		}
	}
	m.finder = scan.NewFinder(needles)
	return m
}

// window is how many bytes a placeholder can take in any way it is recognised.
func (m *marks) window() int {
	if m == nil {
		return 0
	}
	return m.length*4/3 + 8
}

// each calls visit for the owner of every placeholder in text.
func (i *Issued) each(text string, visit func(*owner)) {
	m := i.marks.Load()
	if m == nil || len(text) < m.least {
		return
	}
	for at := 0; ; {
		hit, found := m.finder.FindString(text, at)
		if !found {
			return
		}
		at = hit.Start + 1
		i.around(m, text, hit, visit)
	}
}

// eachIn is each in bytes.
func (i *Issued) eachIn(text []byte, visit func(*owner)) {
	m := i.marks.Load()
	if m == nil {
		return
	}
	for at := 0; ; {
		hit, found := m.finder.Find(text, at)
		if !found {
			return
		}
		at = hit.Start + 1
		from, to := max(0, hit.Start-m.window()), min(len(text), hit.Start+m.window())
		hit.Start, hit.End = hit.Start-from, hit.End-from
		i.around(m, string(text[from:to]), hit, visit)
	}
}

// around visits what a hit belongs to.
func (i *Issued) around(m *marks, text string, hit scan.Match, visit func(*owner)) {
	if k := m.found[hit.Needle]; k.skip < 0 {
		i.whole(text, hit.End, k.forms, visit)
	} else {
		i.decoded(m, text, hit.Start-k.skip, visit)
	}
}

// whole visits what stands around a mark that ends at end.
func (i *Issued) whole(text string, end int, forms []form, visit func(*owner)) {
	for _, f := range forms {
		start := end - len(f.prefix)
		if start < 0 || len(text)-start < f.length || text[start:end] != f.prefix {
			continue
		}
		if o := i.lookup(text[start : start+f.length]); o != nil {
			visit(o)
		}
	}
}

// decoded visits what stands in base64 around the group that begins at group.
func (i *Issued) decoded(m *marks, text string, group int, visit func(*owner)) {
	if group < 0 {
		return
	}
	from := group
	for from >= 4 && group-from < (m.before/3+1)*4 && isBase64(text[from-4:from]) {
		from -= 4
	}
	plain := decodeBase64(text[from:min(len(text), group+(m.length/3+2)*4)])
	for at := 0; ; {
		hit, found := m.raw.FindString(plain, at)
		if !found {
			return
		}
		at = hit.Start + 1
		i.whole(plain, hit.End, m.found[hit.Needle].forms, visit)
	}
}

// eachFolded is each for text whose case doesn't count, as in DNS.
func (i *Issued) eachFolded(text string, visit func(*owner)) {
	m := i.marks.Load()
	if m == nil || len(text) < m.least {
		return
	}
	text = strings.ToLower(text)
	for at := 0; ; {
		hit, found := m.folded.FindString(text, at)
		if !found {
			return
		}
		at = hit.Start + 1
		for _, f := range m.found[hit.Needle].forms {
			start := hit.End - len(f.prefix)
			if start < 0 || len(text)-start < f.length {
				continue
			}
			if o := i.lookupFolded(text[start : start+f.length]); o != nil {
				visit(o)
			}
		}
	}
}

func isBase64(text string) bool {
	for i := range len(text) {
		if sextet(text[i]) < 0 {
			return false
		}
	}
	return true
}

// decodeBase64 decodes as far as text is base64, of either alphabet.
func decodeBase64(text string) string {
	out := make([]byte, 0, len(text)*3/4)
	var bits, n uint
	for i := range len(text) {
		v := sextet(text[i])
		if v < 0 {
			break
		}
		bits, n = bits<<6|uint(v), n+6
		if n >= 8 {
			n -= 8
			out = append(out, byte(bits>>n)) //nolint:gosec // the low eight are meant
		}
	}
	return string(out)
}

func sextet(c byte) int {
	switch {
	case 'A' <= c && c <= 'Z':
		return int(c - 'A')
	case 'a' <= c && c <= 'z':
		return int(c-'a') + 26
	case '0' <= c && c <= '9':
		return int(c-'0') + 52
	case c == '+' || c == '-':
		return 62
	case c == '/' || c == '_':
		return 63
	default:
		return -1
	}
}
