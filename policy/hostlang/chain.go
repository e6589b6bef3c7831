package hostlang

import (
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

// item is one step of a pattern: a character of mask, or any number of them.
type item struct {
	mask uint64
	loop bool
	// spelled says that the label that ends before this step is spelt out.
	spelled bool
}

// chain returns the steps of a pattern for names, from right to left. That
// labels and names aren't empty is left to the walk, so a deep label is a
// plain loop. The last item only says whether the first label is spelt out.
func chain(p policy.Pattern) []item {
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
	var items []item
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
	return append(items, item{spelled: spelled})
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
