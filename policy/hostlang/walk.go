package hostlang

import (
	"math/bits"
	"strings"

	"github.com/sallyport/sallyport/policy"
)

// maxWork bounds one walk, in steps looked at; it is about a quarter of a
// second.
const maxWork = 1 << 24

// walk goes through all names in the order of their lengths.
type walk struct {
	sets
	mode  labelMode
	one   bool // stop at the first outcome
	start int32
	read  []node
	queue [maxName + 1][]int32 // nodes by length
	met   []meeting
	known map[string]bool // outcomes met, if all are asked for
}

// node is a name read so far.
type node struct {
	set     int32
	parent  int32 // -1 at the start
	text    string
	reading reading
}

// meeting is a name and its outcome.
type meeting struct {
	name  string
	ranks []int32
}

func newWalk(s *Space, mode labelMode, wants []Want) *walk {
	w := &walk{mode: mode, one: wants != nil, known: map[string]bool{}}
	var all []ranks
	for list := range s.docs {
		var want Want
		if list < len(wants) {
			want = wants[list]
		}
		all = append(all, newRanks(len(s.docs[list].Rules), want))
	}
	w.sets = newSets(&s.trie, all)
	w.start = w.sets.start()
	return w
}

// takes reports whether the rules that Decide names are those that the walk
// found.
func (w *walk) takes(m meeting, rules []int) bool {
	for list := range rules {
		if w.ranks[list].rank(rules[list]) != m.ranks[list] {
			return false
		}
	}
	return true
}

// rules returns the deciding rules of a meeting where each rule has a rank of
// its own.
func (w *walk) rules(m meeting) []int {
	rules := make([]int, len(m.ranks))
	for list, rank := range m.ranks {
		if rules[list] = int(rank); rank == w.ranks[list].last() {
			rules[list] = policy.DefaultRule
		}
	}
	return rules
}

func (w *walk) run() ([]meeting, error) {
	if w.start == doomed {
		return nil, nil
	}
	w.push(node{set: w.start, parent: -1, reading: startReading}, 0)
	for length := range w.queue {
		for i := 0; i < len(w.queue[length]); i++ {
			w.expand(w.queue[length][i], length)
			if w.one && len(w.met) > 0 {
				return w.met, nil
			}
			if w.work > maxWork {
				return nil, ErrTooComplex
			}
		}
		w.queue[length] = nil
	}
	return w.met, nil
}

// push queues a node unless one that was queued before allows all that it
// does. Nodes come in the order of their lengths, so that one isn't longer.
func (w *walk) push(n node, length int) {
	if n.set == doomed || length > maxName {
		return
	}
	w.work++
	s := w.all[n.set]
	for _, r := range s.seen {
		if r.dominates(n.reading) {
			return
		}
	}
	if n.reading.label != labelComplete {
		// The next of a sample's characters could be a longer name's.
		s.seen = append(s.seen, n.reading)
	}
	w.read = append(w.read, n)
	w.queue[length] = append(w.queue[length], int32(len(w.read)-1)) // bounded by the budget
}

func (w *walk) expand(id int32, length int) {
	n := w.read[id]
	ends := n.reading.mayEnd(w.mode, w.all[n.set].spelled)
	if ends {
		w.meet(id)
		if w.one && len(w.met) > 0 {
			return
		}
	}
	edges := w.edgesOf(n.set)
	for _, kind := range n.reading.kinds() {
		for _, e := range edges {
			if symbol := e.mask & kind; symbol != 0 {
				w.step(id, length, e.to, symbol&-symbol)
			}
		}
	}
	for _, e := range edges {
		if e.mask&dotSymbol != 0 && ends {
			w.push(node{e.to, id, ".", nextLabel()}, length+1)
		}
	}
	if w.mode == sampled && n.reading.label == labelEmpty {
		w.readSamples(id, length)
	}
}

func (w *walk) step(from int32, length int, to int32, symbol uint64) {
	reading, ok := w.read[from].reading.read(symbol)
	if !ok {
		return
	}
	i := bits.TrailingZeros64(symbol)
	w.push(node{to, from, symbols[i : i+1], reading}, length+1)
}

// readSamples reads each sample as one label.
func (w *walk) readSamples(from int32, length int) {
	for _, label := range samples {
		at := w.read[from].set
		for i := len(label) - 1; i >= 0 && at != doomed; i-- {
			at = w.after(at, symbolOf(label[i]))
		}
		if at == doomed {
			continue
		}
		read := reading{length: uint8(len(label)), label: labelComplete, number: numberNone} // a short constant
		w.push(node{at, from, label, read}, length+len(label))
	}
}

// after is where one more character leads.
func (w *walk) after(from int32, symbol uint64) int32 {
	for _, e := range w.edgesOf(from) {
		if e.mask&symbol != 0 {
			return e.to
		}
	}
	return doomed
}

// meet notes the outcome of a whole name, if it is wanted and new.
func (w *walk) meet(id int32) {
	ranks := make([]int32, len(w.ranks))
	if !w.outcome(w.read[id].set, ranks) {
		return
	}
	if !w.one {
		var key strings.Builder
		for _, r := range ranks {
			key.WriteRune(r)
		}
		if w.known[key.String()] {
			return
		}
		w.known[key.String()] = true
	}
	var name strings.Builder
	for ; id >= 0; id = w.read[id].parent {
		name.WriteString(w.read[id].text)
	}
	w.met = append(w.met, meeting{name.String(), ranks})
}
