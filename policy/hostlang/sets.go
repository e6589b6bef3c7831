package hostlang

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// set is a state of the deterministic automaton: where all patterns are after
// the same characters.
type set struct {
	positions []int32 // ascending
	limit     []int32 // by document: no rank from here on matters
	edges     []edge  // nil until they are asked for
	spelled   bool    // a pattern spells the label just read
	seen      []reading
}

// edge leads to a set on each character of mask.
type edge struct {
	mask uint64
	to   int32 // doomed: no wanted outcome is left
}

const doomed = -1

// sets makes and keeps the states of one walk.
type sets struct {
	*trie
	ranks []ranks
	looks []outlook
	all   []*set
	ids   map[string]int32
	work  int // steps looked at so far

	marks []uint32 // by position: the round that it was last added in
	round uint32
}

func newSets(t *trie, all []ranks) sets {
	return sets{trie: t, ranks: all, looks: outlooks(t, all), ids: map[string]int32{}, marks: make([]uint32, len(t.nodes))}
}

// start is the set before anything has been read.
func (s *sets) start() int32 {
	var positions []int32
	s.round++
	for _, root := range s.roots {
		positions = s.appendClosure(positions, root)
	}
	return s.intern(positions)
}

// appendClosure appends p and what is reached from it without reading.
func (s *sets) appendClosure(to []int32, p int32) []int32 {
	if s.marks[p] == s.round {
		return to
	}
	s.marks[p] = s.round
	to = append(to, p)
	for _, l := range s.nodes[p].loops {
		to = s.appendClosure(to, l)
	}
	return to
}

// intern reduces positions to what can still matter and returns the set.
func (s *sets) intern(positions []int32) int32 {
	positions, limit, possible := s.reduce(positions)
	if !possible {
		return doomed
	}
	slices.Sort(positions)
	key := make([]byte, 0, 4*(len(positions)+len(limit)))
	for _, l := range limit {
		key = binary.LittleEndian.AppendUint32(key, uint32(l)) // a rank
	}
	for _, p := range positions {
		key = binary.LittleEndian.AppendUint32(key, uint32(p)) // an index
	}
	if id, ok := s.ids[string(key)]; ok {
		return id
	}
	id := int32(len(s.all)) // bounded by the budget
	made := &set{positions: positions, limit: limit}
	for _, p := range positions {
		made.spelled = made.spelled || s.nodes[p].spelled
	}
	s.all = append(s.all, made)
	s.ids[string(key)] = id
	return id
}

// edgesOf returns the edges of a set; together they take every character.
func (s *sets) edgesOf(id int32) []edge {
	from := s.all[id]
	if from.edges != nil {
		return from.edges
	}
	parts := []uint64{allSymbols}
	split := func(mask uint64) {
		s.work++
		for i := 0; i < len(parts); i++ {
			if in := parts[i] & mask; in != 0 && in != parts[i] {
				parts[i] &^= mask
				parts = append(parts, in)
			}
		}
	}
	for _, p := range from.positions {
		n := &s.nodes[p]
		split(n.loop)
		for _, st := range n.steps {
			if s.looks[st.to].best < from.limit[n.list] {
				split(st.mask)
			}
		}
	}
	slices.SortFunc(parts, func(a, b uint64) int { return bits.TrailingZeros64(a) - bits.TrailingZeros64(b) })
	edges := make([]edge, len(parts))
	for i, part := range parts {
		edges[i] = edge{part, s.intern(s.follow(from, part))}
	}
	from.edges = edges
	return edges
}

// follow returns the positions after one more character, of part.
func (s *sets) follow(from *set, part uint64) []int32 {
	s.round++
	var next []int32
	for _, p := range from.positions {
		n := &s.nodes[p]
		if n.loop&part != 0 {
			next = s.appendClosure(next, p)
		}
		for _, st := range n.steps {
			if st.mask&part != 0 && s.looks[st.to].best < from.limit[n.list] {
				next = s.appendClosure(next, st.to)
			}
		}
		s.work += 1 + len(n.steps)
	}
	return next
}

// reduce drops the positions that can't change the outcome any more, and
// reports whether a wanted outcome is left.
func (s *sets) reduce(positions []int32) (kept, limit []int32, possible bool) {
	ahead := s.need(positions)
	limit = make([]int32, len(s.ranks))
	possibly := make([]bool, len(s.ranks))
	settled := make([]int32, len(s.ranks)) // the position that the limit is due to
	for list := range s.ranks {
		limit[list], settled[list] = s.ranks[list].last(), -1
		possibly[list] = s.ranks[list].wanted(limit[list])
	}
	for _, p := range positions {
		n := &s.nodes[p]
		r := &s.ranks[n.list]
		rank, whole := n.covered(r, ahead)
		switch l := limit[n.list]; {
		case rank == noRule || rank >= r.last():
		case whole && (rank < l || rank+1 == l && settled[n.list] < 0):
			limit[n.list], settled[n.list] = rank, p
			possibly[n.list] = r.wanted(rank)
		case !whole && rank < l:
			// The pattern goes on; those of its rank are needed to see its end.
			limit[n.list], settled[n.list] = rank+1, -1
			possibly[n.list] = r.wanted(rank)
		}
	}
	kept = positions[:0]
	for _, p := range positions {
		n, look := &s.nodes[p], &s.looks[p]
		if look.best >= limit[n.list] && p != settled[n.list] {
			continue
		}
		possibly[n.list] = possibly[n.list] || look.wanted < limit[n.list]
		kept = append(kept, p)
	}
	return slices.Clip(kept), limit, !slices.Contains(possibly, false)
}

// need looks for a document that comes to a wanted outcome only by patterns
// that are under way; of several, the one with the fewest characters left.
func (s *sets) need(positions []int32) need {
	least := need{rest: allSymbols, tail: noTail}
	for list := range s.ranks {
		r := &s.ranks[list]
		if r.want == nil || r.wanted(r.last()) {
			continue
		}
		n := need{tail: noTail}
		for _, p := range positions {
			if int(s.nodes[p].list) == list {
				n = n.join(s.looks[p].ahead)
			}
		}
		if n.fewer(least) {
			least = n
		}
	}
	return least
}

// outcome writes to ranks what each document decides on a name that ends at a
// set, and reports whether all of it is wanted.
func (s *sets) outcome(id int32, into []int32) bool {
	for list := range s.ranks {
		into[list] = s.ranks[list].last()
	}
	for _, p := range s.all[id].positions {
		if n := &s.nodes[p]; n.end != noRule {
			into[n.list] = min(into[n.list], s.ranks[n.list].of[n.end])
		}
	}
	for list := range s.ranks {
		if !s.ranks[list].wanted(into[list]) {
			return false
		}
	}
	return true
}
