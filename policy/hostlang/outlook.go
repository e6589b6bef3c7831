package hostlang

import "math/bits"

// outlook is what may still come of a position in one walk.
type outlook struct {
	best   int32 // lowest rank of a chain through it
	wanted int32 // lowest wanted rank
	ahead  need  // what its chains of wanted ranks still take
}

// need is what chains still take: characters of rest; or characters of body
// and then the masks of tail, which is noTail where that isn't the same for
// all of them. The zero need is of no chain.
type need struct {
	any        bool
	rest, body uint64
	tail       int32
	looped     bool // all have a loop ahead
}

func (n need) join(o need) need {
	switch {
	case !n.any:
		return o
	case !o.any:
		return n
	}
	if n.tail != o.tail {
		n.tail = noTail
	}
	n.rest, n.body, n.looped = n.rest|o.rest, n.body|o.body, n.looped && o.looped
	return n
}

// after is n with a step before it.
func (n need) after(mask uint64) need {
	n.rest |= mask
	if n.looped {
		n.body |= mask
	}
	return n
}

// outlooks looks ahead from every position, the last first.
func outlooks(t *trie, all []ranks) []outlook {
	looks := make([]outlook, len(t.nodes))
	for i := len(t.nodes) - 1; i >= 0; i-- {
		p := &t.nodes[i]
		r := &all[p.list]
		look := outlook{best: noRule, wanted: noRule}
		// Chains without a loop ahead, and those with one.
		var straight, looped need
		see := func(next *outlook, n need) {
			look.best, look.wanted = min(look.best, next.best), min(look.wanted, next.wanted)
			if n.looped {
				looped = looped.join(n)
			} else {
				straight = straight.join(n)
			}
		}
		for _, s := range p.steps {
			see(&looks[s.to], looks[s.to].ahead.after(s.mask))
		}
		for _, l := range p.loops {
			see(&looks[l], looks[l].ahead)
		}
		if p.end != noRule {
			look.best = min(look.best, r.of[p.end])
			if r.wanted(r.of[p.end]) {
				look.wanted = min(look.wanted, r.of[p.end])
				straight = straight.join(need{any: true, tail: noTail})
			}
		}
		look.ahead = looped.join(straight)
		if p.loop != 0 {
			look.ahead = p.throughLoop(r, straight, looped)
		}
		looks[i] = look
	}
	return looks
}

// throughLoop is the need at a loop: for chains without another loop ahead it
// is the last one.
func (p *position) throughLoop(r *ranks, straight, looped need) need {
	n := need{any: straight.any, rest: straight.rest | p.loop, body: p.loop, tail: noTail, looped: true}
	first := true
	for _, e := range p.last {
		if !r.wanted(r.of[e.rule]) {
			continue
		}
		if n.tail = e.tail; !first {
			n.tail = noTail
			break
		}
		first = false
	}
	if !n.any {
		n = need{}
	}
	return n.join(looped.after(p.loop))
}

// covered returns the lowest rank of a chain that is at its last loop and
// matches all of n, or noRule; whole says that nothing follows that loop.
func (p *position) covered(r *ranks, n need) (rank int32, whole bool) {
	rank = noRule
	for _, e := range p.last {
		fits := e.tail == emptyTail && n.rest&^p.loop == 0
		if (fits || n.tail != noTail && e.tail == n.tail && n.body&^p.loop == 0) && r.of[e.rule] < rank {
			rank, whole = r.of[e.rule], fits
		}
	}
	return rank, whole
}

// fewer reports whether n takes fewer characters than o.
func (n need) fewer(o need) bool { return bits.OnesCount64(n.rest) <= bits.OnesCount64(o.rest) }
