package diff

import (
	"cmp"
	"errors"
	"slices"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/hostlang"
)

// Direction says which way a change goes. The zero value is the harmless one.
type Direction uint8

// The directions.
const (
	Narrowing Direction = iota // denied from now on
	Widening                   // allowed from now on
)

// String returns "narrowing" or "widening".
func (d Direction) String() string {
	if d == Widening {
		return "widening"
	}
	return "narrowing"
}

// Change is a set of hosts whose verdict changes: those that one rule decided
// and another one decides.
type Change struct {
	Direction Direction
	// Pattern is a glob that matches all hosts of the change. "*" also stands
	// for those that no rule decided or decides.
	Pattern string
	// Whole says that every host of Pattern is in the change.
	Whole bool
	// Witness is a shortest host of the change. It is zero where only
	// internationalised names could be in the change and none is known
	// ([hostlang.ErrUndecided]): the change is reported to be safe.
	Witness  policy.Host
	Old, New Rule
}

// Rule is what decides one side of a change.
type Rule struct {
	Index int    // policy.DefaultRule if none does
	Glob  string // empty if none does
}

// Compare returns the changes from one document to another, widenings first.
// If there are none, the two decide alike on every host. The error is that of
// [policy.Compile], [hostlang.ErrTooComplex] or, where the rules are nearly that
// complex, [hostlang.ErrUndecided].
func Compare(before, after policy.Document) ([]Change, error) {
	space, err := hostlang.New(before, after)
	if err != nil {
		return nil, err
	}
	c := comparer{docs: [2]policy.Document{before, after}, space: space}
	outcomes, err := c.outcomes()
	if err != nil {
		return nil, err
	}
	var changes []Change
	for _, o := range outcomes {
		change, err := c.change(o)
		if err != nil {
			return nil, err
		}
		changes = append(changes, change)
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(-cmp.Compare(a.Direction, b.Direction), cmp.Compare(place(a.New), place(b.New)), cmp.Compare(place(a.Old), place(b.Old)))
	})
	return changes, nil
}

// place sorts no rule last.
func place(r Rule) uint { return uint(r.Index) } // -1 becomes the largest on purpose

// Widens reports whether any change is a widening.
func Widens(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Direction == Widening })
}

// Difference returns a host on which two documents decide differently. Found
// is false and err nil exactly if they decide alike on every host. Errors are
// that of [policy.Compile], [hostlang.ErrTooComplex] and
// [hostlang.ErrUndecided].
func Difference(a, b policy.Document) (h policy.Host, found bool, err error) {
	space, err := hostlang.New(a, b)
	if err != nil {
		return policy.Host{}, false, err
	}
	for _, action := range []policy.Action{policy.Deny, policy.Allow} {
		h, found, findErr := space.Find(space.Verdict(0, action), not(space.Verdict(1, action)))
		if found {
			return h, true, nil
		}
		err = errors.Join(err, findErr)
	}
	return policy.Host{}, false, err
}

func not(w hostlang.Want) hostlang.Want { return func(rule int) bool { return !w(rule) } }

type comparer struct {
	docs  [2]policy.Document
	space *hostlang.Space
}

// outcomes returns the pairs of deciding rules with different verdicts.
func (c *comparer) outcomes() ([]hostlang.Outcome, error) {
	same := func(o hostlang.Outcome) bool {
		return c.space.Action(0, o.Rules[0]) == c.space.Action(1, o.Rules[1])
	}
	met, open, err := c.space.Outcomes()
	if errors.Is(err, hostlang.ErrTooComplex) {
		return c.oneByOne()
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(append(met, open...), same), nil
}

// oneByOne asks about each new rule by itself, which needs less of a walk than
// all at once.
func (c *comparer) oneByOne() (changed []hostlang.Outcome, err error) {
	met := map[[2]int]bool{}
	for rule := policy.DefaultRule; rule < len(c.docs[1].Rules); rule++ {
		for {
			other := func(old int) bool {
				return !met[[2]int{old, rule}] && c.space.Action(0, old) != c.space.Action(1, rule)
			}
			h, found, err := c.space.Find(other, hostlang.Rule(rule))
			if err != nil {
				return nil, err
			}
			if !found {
				break
			}
			pair, err := c.decide(h)
			if err != nil {
				return nil, err
			}
			met[pair] = true
			changed = append(changed, hostlang.Outcome{Host: h, Rules: pair[:]})
		}
	}
	return changed, nil
}

func (c *comparer) decide(h policy.Host) (pair [2]int, err error) {
	for i, doc := range c.docs {
		p, err := policy.Compile(doc)
		if err != nil {
			return pair, err
		}
		pair[i] = p.Decide(h).Rule
	}
	return pair, nil
}

func (c *comparer) change(o hostlang.Outcome) (Change, error) {
	change := Change{Witness: o.Host, Old: c.rule(0, o.Rules[0]), New: c.rule(1, o.Rules[1])}
	if c.space.Action(1, o.Rules[1]) == policy.Allow {
		change.Direction = Widening
	}
	change.Pattern = narrower(change.Old.Glob, change.New.Glob)
	pattern, err := c.space.With(policy.Document{Rules: []policy.Rule{{HostGlob: change.Pattern}}})
	if err != nil {
		return Change{}, err
	}
	change.Whole = true
	for side := range 2 {
		wants := []hostlang.Want{nil, nil, hostlang.Rule(0)}
		wants[side] = not(hostlang.Rule(o.Rules[side]))
		if _, found, err := pattern.Find(wants...); found || err != nil {
			change.Whole = false
		}
	}
	return change, nil
}

func (c *comparer) rule(side, index int) Rule {
	if index == policy.DefaultRule {
		return Rule{Index: index}
	}
	return Rule{Index: index, Glob: c.docs[side].Rules[index].HostGlob}
}

// narrower returns the glob that describes the hosts of both best; an empty
// one stands for all hosts.
func narrower(old, after string) string {
	switch {
	case old == "" && after == "":
		return "*"
	case old == "":
		return after
	case after == "":
		return old
	}
	space, err := hostlang.New(policy.Document{Rules: []policy.Rule{{HostGlob: old}}}, policy.Document{Rules: []policy.Rule{{HostGlob: after}}})
	if err != nil {
		return after
	}
	// Is there a host of old that is none of after?
	_, found, err := space.Find(hostlang.Rule(0), hostlang.Rule(policy.DefaultRule))
	if !found && err == nil {
		return old
	}
	return after
}
