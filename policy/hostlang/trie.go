package hostlang

import (
	"fmt"
	"slices"
	"strings"
)

// trie holds the chains of all documents; those of one document share what
// they have in common. A node is a position of the automaton.
type trie struct {
	nodes []position
	roots []int32 // by document
	tails map[string]int32
}

// position is where a walk is in some chains of one document. Nodes that
// follow it have larger indices.
type position struct {
	list    int32
	loop    uint64  // it stays here on these characters
	steps   []step  // it goes on on one character
	loops   []int32 // it is at these positions as well
	end     int32   // lowest rule with a chain that ends here, or noRule
	spelled bool    // the label just read is spelt out by the chains
	// last holds the chains whose last loop is this one: what follows it, and
	// the lowest rule.
	last []ending
}

type step struct {
	mask uint64
	to   int32
}

type ending struct{ tail, rule int32 }

const (
	noRule    int32 = 1 << 30
	noTail    int32 = -1
	emptyTail int32 = 0
)

func (t *trie) clone() trie {
	c := trie{nodes: slices.Clone(t.nodes), roots: slices.Clone(t.roots), tails: map[string]int32{}}
	for k, v := range t.tails {
		c.tails[k] = v
	}
	return c
}

// addList begins another document.
func (t *trie) addList() {
	t.roots = append(t.roots, t.make(int32(len(t.roots)))) // a few documents
}

func (t *trie) make(list int32) int32 {
	t.nodes = append(t.nodes, position{list: list, end: noRule})
	return int32(len(t.nodes) - 1) // at most 1024 chains of 254 steps
}

// add files a chain of the last document; rules come in ascending order.
func (t *trie) add(rule int32, items []item) {
	list := int32(len(t.roots) - 1) // a few documents
	at, loopAt, from := t.roots[list], int32(-1), 0
	for i, it := range items {
		t.nodes[at].spelled = t.nodes[at].spelled || it.spelled
		if i == len(items)-1 {
			break
		}
		next := t.next(at, it)
		if next < 0 {
			next = t.make(list)
			if it.loop {
				t.nodes[next].loop = it.mask
				t.nodes[at].loops = append(t.nodes[at].loops, next)
			} else {
				t.nodes[at].steps = append(t.nodes[at].steps, step{it.mask, next})
			}
		}
		if at = next; it.loop {
			loopAt, from = at, i+1
		}
	}
	t.nodes[at].end = min(t.nodes[at].end, rule)
	if loopAt >= 0 {
		t.nodes[loopAt].ends(ending{t.tail(items[from : len(items)-1]), rule})
	}
}

// ends adds an ending unless an earlier rule has the same.
func (p *position) ends(e ending) {
	if !slices.ContainsFunc(p.last, func(o ending) bool { return o.tail == e.tail }) {
		p.last = append(p.last, e)
	}
}

func (t *trie) next(at int32, it item) int32 {
	n := &t.nodes[at]
	if it.loop {
		for _, l := range n.loops {
			if t.nodes[l].loop == it.mask {
				return l
			}
		}
		return -1
	}
	for _, s := range n.steps {
		if s.mask == it.mask {
			return s.to
		}
	}
	return -1
}

// tail numbers the sequence of masks behind a last loop.
func (t *trie) tail(items []item) int32 {
	if len(items) == 0 {
		return emptyTail
	}
	var key strings.Builder
	for i := range items {
		fmt.Fprintf(&key, "%x.", items[i].mask)
	}
	id, ok := t.tails[key.String()]
	if !ok {
		id = int32(len(t.tails) + 1) // at most 1024 chains
		t.tails[key.String()] = id
	}
	return id
}
