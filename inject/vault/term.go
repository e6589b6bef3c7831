package vault

import (
	"math/rand/v2"
	"time"
)

// term is for how long something was granted: a token or a lease. The zero
// term never ends.
type term struct {
	from      time.Time
	granted   time.Duration // 0: for ever
	renewable bool
	renewAt   time.Time // zero: not to be renewed
}

// newTerm starts a term now. Renewal is due after two thirds of it, less up to
// a tenth, so that many edges don't come at once.
func newTerm(granted time.Duration, renewable bool) term {
	t := term{from: time.Now(), granted: granted, renewable: renewable}
	if granted > 0 {
		due := granted*2/3 - rand.N(granted/10+1) //nolint:gosec // spreads load, guards nothing
		t.renewAt = t.from.Add(due)
	}
	return t
}

// ends returns when the term is over; zero means never.
func (t term) ends() time.Time {
	if t.granted == 0 {
		return time.Time{}
	}
	return t.from.Add(t.granted)
}

// over reports whether the term has ended, or is so near its end that what is
// begun now may not finish.
func (t term) over(now time.Time) bool {
	margin := min(t.granted/10, 10*time.Second)
	return t.granted > 0 && now.After(t.ends().Add(-margin))
}

// due reports whether it is time to renew.
func (t term) due(now time.Time) bool {
	return !t.renewAt.IsZero() && !now.Before(t.renewAt)
}

// postponed returns t with its renewal tried again later, but in time.
func (t term) postponed(now time.Time) term {
	t.renewAt = now.Add(max(t.ends().Sub(now)/3, time.Second))
	return t
}

// unrenewed returns t to be used to its end: it can't be renewed.
func (t term) unrenewed() term {
	t.renewAt = time.Time{}
	return t
}

// extended is the term that a renewal came to; the answer says 0 s in the last
// second. If that is so much less than was granted first that the maximum has
// been reached, there is nothing more to renew: what follows is asked for in
// time, by over.
func extended(duration int, renewable bool, first time.Duration) term {
	if duration <= 0 && first > 0 {
		return term{from: time.Now(), granted: 1}
	}
	t := newTerm(time.Duration(duration)*time.Second, renewable)
	if t.exhausted(first) {
		return t.unrenewed()
	}
	return t
}

// exhausted reports whether the renewed term is so much shorter than the one
// first granted that the maximum has been reached.
func (t term) exhausted(first time.Duration) bool {
	return t.granted > 0 && t.granted < first/3
}
