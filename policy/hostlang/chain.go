package hostlang

import (
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/policy"
)

// symbols are the characters of a canonical name, each a bit of a mask. The
// order is that in which witnesses prefer them.
const symbols = "abcdefghijklmnopqrstuvwxyz0123456789_-."

const (
	allSymbols uint64 = 1<<len(symbols) - 1
	dotSymbol  uint64 = 1 << (len(symbols) - 1)
	hyphen     uint64 = 1 << (len(symbols) - 2)
	inLabel           = allSymbols &^ dotSymbol
)

// symbolOf returns the mask of one character.
func symbolOf(c byte) uint64 { return 1 << strings.IndexByte(symbols, c) }

// item is one step of a pattern, read from right to left. Its index is a
// position of the automaton: what has been read matches all steps before it.
type item struct {
	mask uint64 // the characters that it takes
	loop bool   // it takes any number of them
	end  bool   // the pattern is complete; mask is empty
	// lastLoop says that no later step is a loop.
	lastLoop bool
	// rest is what the steps from this one on may take; body leaves out those
	// behind the last loop, whose masks tail names. No loop is left if tail is
	// noTail.
	rest, body uint64
	tail       int32
	// spelled says that the label just read is spelt out by the pattern.
	spelled bool
	list    int32 // index of the document
	rule    int32
}

const (
	noTail    int32 = -1
	emptyTail int32 = 0
)

// tails numbers the sequences of masks behind last loops.
type tails map[string]int32

func (t tails) number(items []item) int32 {
	var key strings.Builder
	for i := range items {
		fmt.Fprintf(&key, "%x.", items[i].mask)
	}
	if key.Len() == 0 {
		return emptyTail
	}
	id, ok := t[key.String()]
	if !ok {
		id = int32(len(t) + 1) //nolint:gosec // at most 1024 chains
		t[key.String()] = id
	}
	return id
}

// appendChain appends the steps of a pattern for names. That labels and names
// aren't empty is left to the walk, so a deep label is a plain loop.
func (t tails) appendChain(items []item, p policy.Pattern, list, rule int32) []item {
	from := len(items)
	labels := p.Labels
	switch {
	case p.All:
		labels = []policy.PatternLabel{{Deep: true}}
	case !p.Host.IsZero():
		labels = nil
		for text := range strings.SplitSeq(p.Host.String(), ".") {
			labels = append(labels, policy.PatternLabel{Text: text})
		}
	}
	spelled := false
	for i := len(labels) - 1; i >= 0; i-- {
		if i < len(labels)-1 {
			items = append(items, item{mask: dotSymbol, spelled: spelled})
		}
		if labels[i].Deep {
			items = append(items, item{mask: allSymbols, loop: true})
		} else {
			items = appendLabel(items, labels[i].Text)
		}
		spelled = strings.HasPrefix(labels[i].Text, "xn--") && !strings.ContainsAny(labels[i].Text, "*?[")
	}
	items = append(items, item{end: true, spelled: spelled})
	t.summarise(items[from:])
	for i := from; i < len(items); i++ {
		items[i].list, items[i].rule = list, rule
	}
	return items
}

// summarise says of each step what follows it.
func (t tails) summarise(chain []item) {
	var rest, body uint64
	tail := noTail
	for i := len(chain) - 1; i >= 0; i-- {
		it := &chain[i]
		rest |= it.mask
		if it.loop && tail == noTail {
			it.lastLoop = true
			tail = t.number(chain[i+1 : len(chain)-1])
		}
		if tail != noTail {
			body |= it.mask
		}
		it.rest, it.body, it.tail = rest, body, tail
	}
}

// appendLabel appends the steps of one label's text, the last first.
func appendLabel(items []item, text string) []item {
	for text != "" {
		last := text[len(text)-1]
		text = text[:len(text)-1]
		switch last {
		case '*':
			items = append(items, item{mask: inLabel, loop: true})
		case '?':
			items = append(items, item{mask: inLabel})
		case ']':
			open := strings.LastIndexByte(text, '[')
			var mask uint64
			for i := open + 1; i < len(text); i++ {
				mask |= symbolOf(text[i])
			}
			items = append(items, item{mask: mask})
			text = text[:open]
		default:
			items = append(items, item{mask: symbolOf(last)})
		}
	}
	return items
}
