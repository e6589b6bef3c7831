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
	items []item
	ranks []ranks
	all   []*set
	ids   map[string]int32
	work  int // positions looked at so far

	sure []int32 // scratch, by list: the rank that is sure to match
}

// intern reduces positions to what can still matter and returns the set.
func (s *sets) intern(positions []int32) int32 {
	positions, possible := s.reduce(positions)
	if !possible {
		return doomed
	}
	key := make([]byte, 0, 4*len(positions))
	for _, p := range positions {
		key = binary.LittleEndian.AppendUint32(key, uint32(p)) //nolint:gosec // an index
	}
	if id, ok := s.ids[string(key)]; ok {
		return id
	}
	id := int32(len(s.all)) //nolint:gosec // bounded by the budget
	made := &set{positions: positions}
	for _, p := range positions {
		made.spelled = made.spelled || s.items[p].spelled
	}
	s.all = append(s.all, made)
	s.ids[string(key)] = id
	return id
}

// start is the set before anything has been read.
func (s *sets) start(starts []int32) int32 {
	var positions []int32
	for _, p := range starts {
		positions = s.appendClosure(positions, p)
	}
	return s.intern(positions)
}

// appendClosure appends p and what is reached from it without reading. Callers
// go through positions in ascending order, so what is there already is at the
// end.
func (s *sets) appendClosure(to []int32, p int32) []int32 {
	for ; ; p++ {
		if len(to) == 0 || to[len(to)-1] < p {
			to = append(to, p)
		}
		if !s.items[p].loop {
			return to
		}
	}
}

// edgesOf returns the edges of a set; together they take every character.
func (s *sets) edgesOf(id int32) []edge {
	from := s.all[id]
	if from.edges != nil {
		return from.edges
	}
	parts := []uint64{allSymbols}
	for _, p := range from.positions {
		mask := s.items[p].mask
		for i := 0; i < len(parts); i++ {
			if in := parts[i] & mask; in != 0 && in != parts[i] {
				parts[i] &^= mask
				parts = append(parts, in)
			}
		}
	}
	s.work += len(from.positions) * 2 * len(parts)
	slices.SortFunc(parts, func(a, b uint64) int { return bits.TrailingZeros64(a) - bits.TrailingZeros64(b) })
	edges := make([]edge, len(parts))
	for i, part := range parts {
		var next []int32
		for _, p := range from.positions {
			it := &s.items[p]
			switch {
			case it.mask&part == 0:
			case it.loop:
				next = s.appendClosure(next, p)
			default:
				next = s.appendClosure(next, p+1)
			}
		}
		edges[i] = edge{part, s.intern(next)}
	}
	from.edges = edges
	return edges
}

// reduce drops the positions that can't change the outcome any more, and
// reports whether a wanted outcome is left.
func (s *sets) reduce(positions []int32) (kept []int32, possible bool) {
	need := s.need(positions)
	for list := range s.ranks {
		s.sure[list] = s.ranks[list].last()
	}
	for _, p := range positions {
		if it := &s.items[p]; need.fits(it) {
			s.sure[it.list] = min(s.sure[it.list], s.ranks[it.list].of[it.rule])
		}
	}
	possibly, held := make([]bool, len(s.ranks)), make([]bool, len(s.ranks))
	for list := range s.ranks {
		possibly[list] = s.ranks[list].wanted(s.sure[list])
	}
	kept = positions[:0]
	for _, p := range positions {
		it := &s.items[p]
		r, sure := &s.ranks[it.list], s.sure[it.list]
		rank := r.of[it.rule]
		if rank > sure || rank == r.last() || held[it.list] && rank == sure {
			continue
		}
		// One pattern that matches whatever follows stands for all of its rank.
		held[it.list] = held[it.list] || rank == sure && it.lastLoop && it.tail == emptyTail && need.fits(it)
		possibly[it.list] = possibly[it.list] || r.wanted(rank)
		kept = append(kept, p)
	}
	return slices.Clip(kept), !slices.Contains(possibly, false)
}

// need is what all that leads to a wanted outcome still takes: characters of
// rest, or characters of body and then the masks of tail.
type need struct {
	rest, body uint64
	tail       int32
}

// fits reports whether a pattern matches all of it from a position on.
func (n need) fits(it *item) bool {
	return it.lastLoop &&
		(it.tail == emptyTail && n.rest&^it.mask == 0 || n.tail != noTail && it.tail == n.tail && n.body&^it.mask == 0)
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
		n, first := need{tail: noTail}, true
		for _, p := range positions {
			it := &s.items[p]
			if int(it.list) != list || !r.wanted(r.of[it.rule]) {
				continue
			}
			if first {
				n.tail = it.tail
			} else if n.tail != it.tail {
				n.tail = noTail
			}
			n.rest, n.body, first = n.rest|it.rest, n.body|it.body, false
		}
		if bits.OnesCount64(n.rest) <= bits.OnesCount64(least.rest) {
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
		it := &s.items[p]
		if it.end || it.lastLoop && it.tail == emptyTail {
			into[it.list] = min(into[it.list], s.ranks[it.list].of[it.rule])
		}
	}
	for list := range s.ranks {
		if !s.ranks[list].wanted(into[list]) {
			return false
		}
	}
	return true
}
