package hostlang

import "github.com/sallyport/sallyport/policy"

// ranks orders what may decide in one document. Without a Want each rule is a
// rank of its own, and no rule comes last. With one, rules in a row that it
// treats alike share a rank, for the question can't tell them apart.
type ranks struct {
	of   []int32 // by rule; the last is that of no rule
	want []bool  // by rank; nil takes all
}

func newRanks(rules int, want Want) ranks {
	r := ranks{of: make([]int32, rules+1)}
	if want == nil {
		for i := range r.of {
			r.of[i] = int32(i) // at most 200 rules
		}
		return r
	}
	for i := range r.of {
		rule := i
		if i == rules {
			rule = policy.DefaultRule
		}
		if w := want(rule); i == 0 || r.want[len(r.want)-1] != w {
			r.want = append(r.want, w)
		}
		r.of[i] = int32(len(r.want) - 1) // at most 200 rules
	}
	return r
}

// rank returns the rank of a deciding rule.
func (r *ranks) rank(rule int) int32 {
	if rule == policy.DefaultRule {
		return r.last()
	}
	return r.of[rule]
}

// last is the rank of no rule.
func (r *ranks) last() int32 { return r.of[len(r.of)-1] }

func (r *ranks) wanted(rank int32) bool { return r.want == nil || r.want[rank] }
