package policy

import (
	"errors"
	"fmt"
	"strings"
)

// Bounds on braces, so that a short glob can't become a long compilation
// (NP-47).
const (
	maxBraceDepth   = 8
	maxAlternatives = 64
)

// expandBraces turns "{a,b}.example.com" into "a.example.com" and
// "b.example.com": a rule with braces means the same as one rule for each
// alternative.
func expandBraces(s string) ([]string, error) {
	e := expander{s: s}
	texts, err := e.sequence(0)
	if err != nil {
		return nil, err
	}
	if e.pos < len(s) {
		return nil, fmt.Errorf("it has a %q without a {", s[e.pos])
	}
	return texts, nil
}

// expander reads s from pos on.
type expander struct {
	s   string
	pos int
}

// sequence reads text and braces up to the end of the alternative that it is
// in, or at depth 0 up to the end.
func (e *expander) sequence(depth int) ([]string, error) {
	texts := []string{""}
	for e.pos < len(e.s) {
		c := e.s[e.pos]
		if c == '}' || c == ',' && depth > 0 {
			break
		}
		var next []string
		if c == '{' {
			e.pos++
			var err error
			if next, err = e.braces(depth + 1); err != nil {
				return nil, err
			}
		} else {
			next = []string{e.literal(depth)}
		}
		if len(texts)*len(next) > maxAlternatives {
			return nil, tooManyAlternatives()
		}
		texts = product(texts, next)
	}
	return texts, nil
}

// literal reads up to the next character that has a meaning at depth.
func (e *expander) literal(depth int) string {
	special := "{}"
	if depth > 0 {
		special = "{},"
	}
	text := e.s[e.pos:]
	if i := strings.IndexAny(text, special); i >= 0 {
		text = text[:i]
	}
	e.pos += len(text)
	return text
}

// braces reads alternatives and the closing brace.
func (e *expander) braces(depth int) ([]string, error) {
	if depth > maxBraceDepth {
		return nil, fmt.Errorf("its braces nest deeper than %d", maxBraceDepth)
	}
	var all []string
	for {
		texts, err := e.sequence(depth)
		if err != nil {
			return nil, err
		}
		if all = append(all, texts...); len(all) > maxAlternatives {
			return nil, tooManyAlternatives()
		}
		if e.pos == len(e.s) {
			return nil, errors.New("it has an unclosed {")
		}
		e.pos++
		if e.s[e.pos-1] == '}' {
			return all, nil
		}
	}
}

func product(heads, tails []string) []string {
	all := make([]string, 0, len(heads)*len(tails))
	for _, h := range heads {
		for _, t := range tails {
			all = append(all, h+t)
		}
	}
	return all
}

func tooManyAlternatives() error {
	return fmt.Errorf("its braces stand for more than %d alternatives", maxAlternatives)
}
