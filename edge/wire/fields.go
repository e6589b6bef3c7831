package wire

import (
	"maps"
	"strings"
)

// hasToken reports whether a list field holds a token, in any ASCII case.
func hasToken(values []string, lower string) bool {
	for _, v := range values {
		if listHas([]byte(v), lower) {
			return true
		}
	}
	return false
}

// headerText makes s safe to stand on a line of a head.
func headerText(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, s)
}

func withAll(set map[string]bool, keys []string) map[string]bool {
	out := maps.Clone(set)
	for _, k := range keys {
		out[k] = true
	}
	return out
}
