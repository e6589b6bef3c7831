package shape

import (
	"errors"
	"fmt"
	"math"
	"regexp/syntax"
	"strings"
)

const (
	minPrefix = 4   // of a pattern's fixed beginning, by which it is recognised
	maxLen    = 512 // of a placeholder
	minBits   = 64  // of randomness
)

// Parse returns the shape of a pattern: a regular expression of fixed texts and
// counted classes of printable ASCII, such as "e2b_[0-9a-f]{40}". It begins
// with at least four fixed characters, by which placeholders are recognised,
// and has at least 64 bits of randomness.
func Parse(pattern string) (Shape, error) {
	re, err := syntax.Parse(pattern, syntax.ClassNL)
	if err != nil {
		return Shape{}, errors.New("parse pattern: not a regular expression")
	}
	s := Shape{name: Custom + ":" + pattern}
	if err := s.build(re); err != nil {
		return Shape{}, fmt.Errorf("parse pattern: %w", err)
	}
	bits := 0.0
	for _, p := range s.parts {
		bits += float64(p.count) * math.Log2(math.Max(1, float64(len(p.alphabet))))
	}
	switch {
	case len(s.Prefix()) < minPrefix:
		return Shape{}, fmt.Errorf("parse pattern: want at least %d fixed characters first", minPrefix)
	case s.Len() > maxLen:
		return Shape{}, fmt.Errorf("parse pattern: longer than %d characters", maxLen)
	case bits < minBits:
		return Shape{}, fmt.Errorf("parse pattern: %.0f bits can be guessed: want %d", bits, minBits)
	}
	return s, nil
}

func (s *Shape) build(re *syntax.Regexp) error {
	switch re.Op {
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if err := s.build(sub); err != nil {
				return err
			}
		}
		return nil
	case syntax.OpCapture:
		return s.build(re.Sub[0])
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return errors.New("want one case")
		}
		return s.literal(string(re.Rune))
	case syntax.OpCharClass:
		return s.class(re, 1)
	case syntax.OpRepeat:
		if re.Min != re.Max || re.Sub[0].Op != syntax.OpCharClass {
			return errors.New("want a class with one count, such as [a-z]{20}")
		}
		return s.class(re.Sub[0], re.Min)
	default:
		return errors.New("want fixed texts and counted classes only")
	}
}

func (s *Shape) literal(text string) error {
	for _, c := range text {
		if c <= ' ' || c > '~' {
			return errors.New("want printable ASCII")
		}
	}
	if n := len(s.parts); n > 0 && s.parts[n-1].text != "" {
		s.parts[n-1].text += text
		return nil
	}
	s.parts = append(s.parts, part{text: text})
	return nil
}

func (s *Shape) class(re *syntax.Regexp, count int) error {
	var alphabet strings.Builder
	for i := 0; i < len(re.Rune); i += 2 {
		if re.Rune[i] <= ' ' || re.Rune[i+1] > '~' {
			return errors.New("want printable ASCII")
		}
		for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
			alphabet.WriteRune(c)
		}
	}
	s.parts = append(s.parts, part{alphabet: alphabet.String(), count: count})
	return nil
}
