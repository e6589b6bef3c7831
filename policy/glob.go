package policy

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// form is how a pattern is matched.
type form uint8

const (
	formExact form = iota // the host is name
	formUnder             // the host is under name, at any depth
	formAll               // every host
	formGlob              // labels match head, and then comes ".name"
)

// pattern is one brace-free alternative of a glob, ready to be matched.
type pattern struct {
	form form
	// name is canonical. For formGlob it is the literal labels at the end,
	// empty if the last label is a wildcard.
	name string
	head []label // formGlob only
}

// parseGlob returns the alternatives of a glob; a host matches the glob if it
// matches any of them. Its errors complete "…: " and name no path.
func parseGlob(s string) ([]pattern, error) {
	switch {
	case s == "":
		return nil, errors.New("write * for every host")
	case utf8.RuneCountInString(s) > MaxHostLen:
		return nil, fmt.Errorf("it is longer than %d characters", MaxHostLen)
	case strings.Contains(s, `\`):
		return nil, errors.New(`it contains a backslash, which no host needs`)
	}
	if strings.Contains(s, ":") && !strings.Contains(s, "{") {
		return parseColons(s)
	}
	texts, err := expandBraces(s)
	if err != nil {
		return nil, err
	}
	patterns := make([]pattern, len(texts))
	for i, text := range texts {
		if patterns[i], err = parsePattern(text); err != nil {
			return nil, err
		}
	}
	return patterns, nil
}

// parseColons reads the only globs with colons, IPv6 addresses, and tells
// apart the mistakes that are made with the rest.
func parseColons(s string) ([]pattern, error) {
	h, err := canonical(s)
	if err == nil {
		return []pattern{{form: formExact, name: h.name}}, nil
	}
	if i := strings.LastIndexByte(s, ':'); i > 0 && strings.Trim(s[i+1:], "0123456789*") == "" &&
		strings.Count(s, ":") == 1 {
		return nil, fmt.Errorf("a rule is about a whole host, not a port; write %s", quote(s[:i]))
	}
	return nil, err
}

// parsePattern reads a glob without braces.
func parsePattern(s string) (pattern, error) {
	if s == "*" || s == "**" {
		return pattern{form: formAll}, nil
	}
	// ".example.com" is the printed form of "*.example.com" (decision 1).
	if strings.HasPrefix(s, ".") {
		s = "*" + s
	}
	if apex, ok := cutSubdomains(s); ok && !hasMeta(apex) {
		if apex == "" {
			return pattern{}, errors.New("it has an empty label")
		}
		h, err := canonical(apex)
		if err != nil {
			return pattern{}, err
		}
		if h.ip.IsValid() {
			return pattern{}, errors.New("an address has no subdomains")
		}
		return pattern{form: formUnder, name: h.name}, nil
	}
	if !hasMeta(s) {
		h, err := canonical(s)
		return pattern{form: formExact, name: h.name}, err
	}
	return parseLabels(s)
}

// cutSubdomains cuts the leading label that stands for one or more labels.
func cutSubdomains(s string) (string, bool) {
	if rest, ok := strings.CutPrefix(s, "**."); ok {
		return rest, true
	}
	return strings.CutPrefix(s, "*.")
}

func hasMeta(s string) bool { return strings.ContainsAny(s, "*?[]{}") }

// parseLabels reads a glob that has a wildcard in it somewhere else than in
// front of a literal name.
func parseLabels(s string) (pattern, error) {
	if strings.Trim(s, "0123456789.*?") == "" && strings.ContainsAny(s, "0123456789") {
		return pattern{}, errors.New("addresses are matched only by *, ** or the exact address")
	}
	texts := strings.Split(strings.TrimSuffix(s, "."), ".")
	tail := len(texts)
	for tail > 0 && !hasMeta(texts[tail-1]) {
		tail--
	}
	p := pattern{form: formGlob, head: make([]label, tail)}
	length := 0
	for i, text := range texts {
		l, err := parseLabel(text, i == 0)
		if err != nil {
			return pattern{}, err
		}
		length += l.minLen() + 1
		if i >= tail {
			p.name += "." + l.text
			continue
		}
		p.head[i] = l
	}
	if length-1 > MaxHostLen {
		return pattern{}, fmt.Errorf("it matches only names longer than %d bytes", MaxHostLen)
	}
	p.name = strings.TrimPrefix(p.name, ".")
	if p.name != "" {
		if err := checkName(p.name); err != nil {
			return pattern{}, err
		}
	}
	return p, nil
}
