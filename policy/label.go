package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gobwas/glob"
)

// labelKind is how one label of a pattern is matched.
type labelKind uint8

const (
	labelLiteral labelKind = iota // the label is text
	labelAny                      // any one label
	labelDeep                     // one or more labels
	labelGlob                     // one label that glob matches
)

// label is one label of a formGlob pattern.
type label struct {
	kind labelKind
	text string // canonical; of a glob, as gobwas reads it
	// start is the literal text that the label begins with. Checking it first
	// spares most calls of glob.
	start string
	glob  *glob.Pattern
}

// parseLabel reads a label, the text between two dots; first tells whether it
// is the leading one, where a lone star crosses dots.
func parseLabel(s string, first bool) (label, error) {
	if isASCII(s) {
		// Others are left to UTS 46, which doesn't lower all of them alike: to
		// it "ẞ" is "ss", and no "ß".
		s = strings.ToLower(s)
	}
	switch {
	case s == "**", s == "*" && first:
		return label{kind: labelDeep}, nil
	case s == "*":
		return label{kind: labelAny}, nil
	case strings.Contains(s, "**"):
		return label{}, errors.New("** stands for whole labels; inside a label write *")
	case !hasMeta(s):
		return parseLiteral(s)
	case !isASCII(s):
		return label{}, errors.New("a label with a wildcard must be ASCII; write an internationalised label whole")
	case first && s[0] == '*' && s[1] != '-':
		// "*example.com" is nearly always meant as "*.example.com" and would
		// match whatever name somebody registers that ends alike.
		return label{}, errors.New("a leading * must be followed by a dot (subdomains) or a hyphen")
	}
	text, err := normalizeClasses(s)
	if err != nil {
		return label{}, err
	}
	// gobwas/glob v1.1.0: one label at a time and without separators, because
	// with them a star never gives up its restart points: "*a*a*a*a[bc]" takes
	// a second for one label, exponential in its stars. A class such as "[!a]"
	// would match a separator, too. A label with several stars takes its
	// scratch space from a sync.Pool, which a garbage collection may empty.
	g, err := glob.Compile(text)
	if err != nil {
		return label{}, err
	}
	l := label{kind: labelGlob, text: text, start: text[:strings.IndexAny(text, wildcards)], glob: g}
	if l.minLen() > maxLabelLen {
		return label{}, fmt.Errorf("it has a label longer than %d bytes", maxLabelLen)
	}
	return l, nil
}

func parseLiteral(s string) (label, error) {
	name := s
	if !isASCII(s) {
		var err error
		if name, err = unicodeNames.ToASCII(s); err != nil {
			return label{}, errors.New("it has a label that is not a valid internationalised name")
		}
	}
	if err := checkLabel(name); err != nil {
		return label{}, err
	}
	if err := checkALabels(name); err != nil {
		return label{}, err
	}
	return label{kind: labelLiteral, text: name, start: name}, nil
}

// normalizeClasses spells each class as the plain list of the characters that
// a host can have in its place, and checks everything outside of them.
func normalizeClasses(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '[':
			end := strings.IndexByte(s[i:], ']')
			if end < 0 {
				return "", errors.New("it has an unclosed [")
			}
			chars, err := parseClass(s[i+1 : i+end])
			if err != nil {
				return "", err
			}
			b.WriteString("[" + chars + "]")
			i += end
		case c == ']':
			return "", errors.New("it has a ] without a [")
		case c == '*', c == '?', isHostByte(c):
			b.WriteByte(c)
		default:
			return "", fmt.Errorf("it contains %q", c)
		}
	}
	return b.String(), nil
}

// classBytes are the characters of a canonical label. The hyphen is last:
// between two others gobwas would read it as a range.
const classBytes = "abcdefghijklmnopqrstuvwxyz0123456789_-"

// parseClass reads the inside of a class, such as "!a-f0-9".
func parseClass(s string) (string, error) {
	inner, negated := strings.CutPrefix(s, "!")
	if inner == "" {
		return "", errors.New("it has an empty class []")
	}
	var in [256]bool
	for i := 0; i < len(inner); i++ {
		lo, hi := inner[i], inner[i]
		if i+2 < len(inner) && inner[i+1] == '-' {
			hi = inner[i+2]
			i += 2
		}
		if !isHostByte(lo) || !isHostByte(hi) || lo > hi {
			return "", fmt.Errorf("it has a class [%s] that is not of letters, digits, hyphens and underscores", s)
		}
		for c := int(lo); c <= int(hi); c++ {
			in[c] = true
		}
	}
	var b strings.Builder
	for i := range len(classBytes) {
		if in[classBytes[i]] != negated {
			b.WriteByte(classBytes[i])
		}
	}
	if b.Len() == 0 {
		return "", errors.New("it has a class that matches nothing")
	}
	return b.String(), nil
}

// wildcards are the characters with a meaning in the text of a labelGlob.
const wildcards = "*?[]"

// suffix returns the literal text that the label ends in.
func (l *label) suffix() string {
	return l.text[strings.LastIndexAny(l.text, wildcards)+1:]
}

// minLen returns the length of the shortest text that the label matches.
func (l *label) minLen() int {
	if l.kind == labelAny || l.kind == labelDeep {
		return 1
	}
	n, inClass := 0, false
	for i := range len(l.text) {
		switch c := l.text[i]; {
		case c == '[':
			inClass = true
		case c == ']':
			inClass = false
			n++
		case c != '*' && !inClass:
			n++
		}
	}
	return n
}

// match reports whether l, which is not labelDeep, matches one label.
func (l *label) match(s string) bool {
	switch l.kind {
	case labelLiteral:
		return s == l.text
	case labelAny:
		return true
	case labelGlob:
		return strings.HasPrefix(s, l.start) && l.glob.Match(s)
	case labelDeep:
	}
	return false
}
