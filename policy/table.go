package policy

import "strings"

// table finds the first rule that matches a host without trying the rules in
// turn. Each pattern is filed under the literal labels that it ends in, so a
// decision looks a host up once for each of its labels at most, whatever the
// number of rules; the lowest index found is the first match.
//
// The zero table matches nothing.
type table struct {
	all     []int // rules for every host, ascending
	names   map[string]*entry
	lengths lengths // of the keys of names
	root    globs   // patterns that end in a wildcard
}

// entry holds what is filed under one name. Indices ascend.
type entry struct {
	exact []int // rules for the name itself
	under []int // rules for every name under it
	globs globs // patterns for names under it
}

// lengths is the set of the lengths that names in a table have. Most of the
// suffixes of a host have none of them, which costs less to see than a look-up.
type lengths [(MaxHostLen + 63) / 64]uint64

func (l *lengths) add(n int)      { l[n/64] |= 1 << (n % 64) }
func (l *lengths) has(n int) bool { return l[n/64]&(1<<(n%64)) != 0 }

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
		g.add(rule, p.head)
	}
}

// entry returns the entry of name, which it makes if there is none.
func (t *table) entry(name string) *entry {
	if t.names == nil {
		t.names = make(map[string]*entry)
	}
	e := t.names[name]
	if e == nil {
		e = new(entry)
		t.names[name] = e
		t.lengths.add(len(name))
	}
	return e
}

func (t *table) lookup(name string) *entry {
	if !t.lengths.has(len(name)) {
		return nil
	}
	return t.names[name]
}

// first returns the lowest index of a rule that matches h, or none.
func (t *table) first(h Host, none int) int {
	best := lower(none, t.all)
	if e := t.lookup(h.name); e != nil {
		best = lower(best, e.exact)
	}
	if h.ip.IsValid() {
		return best // rules for names never admit an address
	}
	for dot := strings.IndexByte(h.name, '.'); dot >= 0; {
		tail := h.name[dot+1:]
		if e := t.lookup(tail); e != nil {
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
