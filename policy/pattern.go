package policy

import (
	"fmt"
	"strings"
)

// Pattern is one brace-free alternative of a glob as the matcher reads it, for
// tools that reason about all hosts at once. One of Host, All and Labels is
// set.
type Pattern struct {
	// Host is the one host that the pattern matches.
	Host Host
	// All says that it matches every host, addresses included.
	All bool
	// Labels match names, and no addresses, label by label.
	Labels []PatternLabel
}

// PatternLabel matches labels of a name.
type PatternLabel struct {
	// Deep says that it stands for one or more whole labels; Text is empty.
	Deep bool
	// Text matches one label. It is of canonical characters, "*" for any
	// number of them, "?" for one, and classes such as "[abc-]" that list what
	// they stand for: no ranges, no negation.
	Text string
}

// Patterns returns the alternatives of a glob; a host matches the glob exactly
// if it matches one of them. The error says why the glob is refused.
func Patterns(glob string) ([]Pattern, error) {
	parsed, err := parseGlob(glob)
	if err != nil {
		return nil, fmt.Errorf("parse host glob %s: %w", quote(glob), err)
	}
	patterns := make([]Pattern, len(parsed))
	for i, p := range parsed {
		patterns[i] = p.export()
	}
	return patterns, nil
}

func (p pattern) export() Pattern {
	switch p.form {
	case formAll:
		return Pattern{All: true}
	case formExact:
		// The name of a pattern is canonical already.
		h, _ := canonical(p.name)
		return Pattern{Host: h}
	case formUnder:
		return Pattern{Labels: append([]PatternLabel{{Deep: true}}, literals(p.name)...)}
	case formGlob:
	}
	labels := make([]PatternLabel, 0, len(p.head)+1)
	for i := range p.head {
		switch l := &p.head[i]; l.kind {
		case labelDeep:
			labels = append(labels, PatternLabel{Deep: true})
		case labelAny:
			labels = append(labels, PatternLabel{Text: "*"})
		case labelLiteral, labelGlob:
			labels = append(labels, PatternLabel{Text: l.text})
		}
	}
	if p.name != "" {
		labels = append(labels, literals(p.name)...)
	}
	return Pattern{Labels: labels}
}

func literals(name string) []PatternLabel {
	var labels []PatternLabel
	for text := range strings.SplitSeq(name, ".") {
		labels = append(labels, PatternLabel{Text: text})
	}
	return labels
}
