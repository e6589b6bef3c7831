package policy

import (
	"slices"
	"strings"
)

// globs are patterns whose wildcards are followed by the same literal labels.
// They are filed a second time, under the literal text that their heads begin
// with or end in, whichever is longer, so that a host is matched against those
// only that could fit.
type globs struct {
	starts affixes
	ends   affixes
}

// affixes files candidates under a prefix or a suffix of what they match.
type affixes struct {
	sizes []affixSize // ascending, each length once
	by    map[string][]candidate
}

// affixSize stands for all affixes of one length. Inner is the set of the
// bytes, modulo 64, that they have next to the wildcard; a host with another
// byte there needs no look-up.
type affixSize struct {
	length int
	inner  uint64
}

func (s *affixSize) add(inner byte)      { s.inner |= 1 << (inner % 64) }
func (s *affixSize) has(inner byte) bool { return s.inner&(1<<(inner%64)) != 0 }

type candidate struct {
	rule int
	head []label
}

// add files the head of a pattern; rules are added in ascending order.
func (g *globs) add(rule int, head []label) {
	c := candidate{rule, head}
	start, end := literalStart(head), head[len(head)-1].suffix()
	switch {
	case len(start) < len(end):
		g.ends.add(end, end[0], c)
	case start != "":
		g.starts.add(start, start[len(start)-1], c)
	default:
		g.starts.add("", 0, c)
	}
}

// literalStart returns the literal text before the first wildcard of head.
func literalStart(head []label) string {
	start := ""
	for i := range head {
		start += head[i].start
		if head[i].kind != labelLiteral {
			break
		}
		start += "."
	}
	return start
}

func (a *affixes) add(affix string, inner byte, c candidate) {
	if a.by == nil {
		a.by = make(map[string][]candidate)
	}
	a.by[affix] = append(a.by[affix], c)
	i, found := slices.BinarySearchFunc(a.sizes, len(affix), func(s affixSize, n int) int { return s.length - n })
	if !found {
		a.sizes = slices.Insert(a.sizes, i, affixSize{length: len(affix)})
	}
	a.sizes[i].add(inner)
}

// first returns the lowest rule below best that matches text, or best.
func (g *globs) first(text string, best int) int {
	for i := range g.starts.sizes {
		size := &g.starts.sizes[i]
		n := size.length
		if n > len(text) {
			break
		}
		if n == 0 || size.has(text[n-1]) {
			best = firstOf(g.starts.by[text[:n]], text, best)
		}
	}
	for i := range g.ends.sizes {
		size := &g.ends.sizes[i]
		from := len(text) - size.length
		if from < 0 {
			break
		}
		if size.has(text[from]) {
			best = firstOf(g.ends.by[text[from:]], text, best)
		}
	}
	return best
}

func firstOf(candidates []candidate, text string, best int) int {
	for i := range candidates {
		c := &candidates[i]
		if c.rule >= best {
			break
		}
		if matchLabels(c.head, text) {
			return c.rule
		}
	}
	return best
}

// matchLabels reports whether the labels of s match head, one by one. A deep
// label takes as few as it can, and only the last one met is ever tried again,
// so the time is at most the product of the two lengths.
func matchLabels(head []label, s string) bool {
	i, pos := 0, 0       // in head and in s
	deep, retry := -1, 0 // the last deep label, and the end of its share
	for pos <= len(s) {
		end := labelEnd(s, pos)
		switch {
		case i < len(head) && head[i].kind == labelDeep:
			deep, retry = i, end+1
			i, pos = i+1, end+1
		case i < len(head) && head[i].match(s[pos:end]):
			i, pos = i+1, end+1
		case deep >= 0:
			retry = labelEnd(s, retry) + 1
			i, pos = deep+1, retry
		default:
			return false
		}
	}
	return i == len(head)
}

func labelEnd(s string, pos int) int {
	if dot := strings.IndexByte(s[pos:], '.'); dot >= 0 {
		return pos + dot
	}
	return len(s)
}
