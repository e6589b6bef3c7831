package suite

import (
	"fmt"
	"io"
	"log"
	"maps"
	"slices"
	"strings"
)

var discard = log.New(io.Discard, "", 0)

// Result is what became of one row.
type Result struct {
	Row     Row
	Answers []string
	// Unsafe says how the property was broken: a secret elsewhere, a connection
	// to a host that isn't allowed.
	Unsafe []string
	// Differs says what else was not as the row has it: another answer, a
	// request that arrived though it shouldn't, or the reverse.
	Differs []string
}

// OK reports whether the row went as it says.
func (r Result) OK() bool { return len(r.Unsafe) == 0 && len(r.Differs) == 0 }

func (r Result) String() string {
	return fmt.Sprintf("%s: %s (%s)", r.Row.ID, strings.Join(append(slices.Clone(r.Unsafe), r.Differs...), "; "), r.Row.Reason)
}

// Judge compares the answers to a row with what the origins saw since the last
// call. Rows are played one after another.
func (o *Origins) Judge(r Row, answers []string) Result {
	result := Result{Row: r, Answers: answers, Unsafe: o.Unsafe()}
	if !slices.Equal(answers, r.Answers) {
		result.Differs = append(result.Differs, fmt.Sprintf("answered %v, want %v", answers, r.Answers))
	}
	want := map[string]Count{}
	for _, origin := range r.Reach {
		c := want[origin]
		c.Requests++
		if origin == Bound {
			c.Secrets++
		}
		want[origin] = c
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if seen := o.seen[r.ID]; !maps.Equal(seen, want) {
		result.Differs = append(result.Differs, fmt.Sprintf("arrived at %v, want %v", seen, want))
	}
	return result
}

// Unsafe returns how the property was broken since the last call. Call it once
// more when the proxy has ended: what was still on its way counts as well.
func (o *Origins) Unsafe() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var unsafe []string
	for _, origin := range slices.Sorted(maps.Keys(o.touched)) {
		unsafe = append(unsafe, fmt.Sprintf("%d connections to %s", o.touched[origin], origin))
	}
	for _, origin := range slices.Sorted(maps.Keys(o.leaks)) {
		unsafe = append(unsafe, fmt.Sprintf("the secret arrived at %s", origin))
	}
	clear(o.touched)
	clear(o.leaks)
	return unsafe
}
