package policy

import (
	"slices"
	"strings"
)

// table finds the first rule that matches a host without trying the rules in
// turn. Each pattern is filed under the literal labels that it ends in, so a
// host has at most as many look-ups as it has labels, whatever the number of
// rules; the lowest index found is the first match.
//
// The zero table matches nothing.
type table struct {
	all   []int // rules for every host, ascending
	names map[string]*entry
	root  globs // patterns that end in a wildcard
}

// entry holds what is filed under one name. Indices ascend.
type entry struct {
	exact []int // rules for the name itself
	under []int // rules for every name under it
	globs globs // patterns for names under it
}

// add files a pattern of a rule; rules are added in ascending order.
func (t *table) add(rule int, p pattern) {
	switch p.form {
	case formAll:
		t.all = append(t.all, rule)
	case formExact:
		e := t.entry(p.name)
		e.exact = append(e.exact, rule)
	case formUnder:
		e := t.entry(p.name)
		e.under = append(e.under, rule)
	case formGlob:
		g := &t.root
		if p.name != "" {
			g = &t.entry(p.name).globs
		}
		g.add(rule, p)
	}
}

func (t *table) entry(name string) *entry {
	if t.names == nil {
		t.names = make(map[string]*entry)
	}
	e := t.names[name]
	if e == nil {
		e = new(entry)
		t.names[name] = e
	}
	return e
}

// first returns the lowest index of a rule that matches h, or none.
func (t *table) first(h Host, none int) int {
	best := lower(none, t.all)
	if e := t.names[h.name]; e != nil {
		best = lower(best, e.exact)
	}
	if h.ip.IsValid() {
		return best // "*.0.0.1" is about names (decision 3)
	}
	for dot := strings.IndexByte(h.name, '.'); dot >= 0; {
		tail := h.name[dot+1:]
		if e := t.names[tail]; e != nil {
			best = lower(best, e.under)
			best = e.globs.first(h.name[:dot], best)
		}
		next := strings.IndexByte(tail, '.')
		if next < 0 {
			break
		}
		dot += 1 + next
	}
	return t.root.first(h.name, best)
}

// lower returns the first of rules if it is below best.
func lower(best int, rules []int) int {
	if len(rules) > 0 && rules[0] < best {
		return rules[0]
	}
	return best
}

// globs are patterns with the same literal end, filed under the literal text
// that they begin with.
type globs struct {
	lengths  []int // of the keys of byPrefix, ascending, each once
	byPrefix map[string][]candidate
}

type candidate struct {
	rule int
	head []label
}

func (g *globs) add(rule int, p pattern) {
	if g.byPrefix == nil {
		g.byPrefix = make(map[string][]candidate)
	}
	g.byPrefix[p.prefix] = append(g.byPrefix[p.prefix], candidate{rule, p.head})
	if i, found := slices.BinarySearch(g.lengths, len(p.prefix)); !found {
		g.lengths = slices.Insert(g.lengths, i, len(p.prefix))
	}
}

// first returns the lowest rule below best that matches, or best. The host is
// text followed by the literal end.
func (g *globs) first(text string, best int) int {
	for _, n := range g.lengths {
		if n > len(text) {
			break
		}
		for _, c := range g.byPrefix[text[:n]] {
			if c.rule >= best {
				break
			}
			if matchLabels(c.head, text) {
				best = c.rule
				break
			}
		}
	}
	return best
}

// matchLabels reports whether the labels of s match head, one by one. A deep
// label takes as few as it can; only the last one met is ever tried again, so
// the time is at most the product of the two lengths.
func matchLabels(head []label, s string) bool {
	i, pos := 0, 0       // in head and s
	deep, retry := -1, 0 // the last deep label and what follows its share
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
