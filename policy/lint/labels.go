package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/policy"
)

func isLiteral(l policy.PatternLabel) bool { return !l.Deep && !strings.ContainsAny(l.Text, "*?[") }

// name joins literal labels.
func name(labels []policy.PatternLabel) string {
	texts := make([]string, len(labels))
	for i, l := range labels {
		texts[i] = l.Text
	}
	return strings.Join(texts, ".")
}

// samePatterns reports whether two globs are the same once they are
// normalised, whatever the order of their alternatives.
func samePatterns(a, b []policy.Pattern) bool {
	return slices.Equal(keys(a), keys(b))
}

func keys(patterns []policy.Pattern) []string {
	all := make([]string, len(patterns))
	for i, p := range patterns {
		all[i] = fmt.Sprintf("%t %s %v", p.All, p.Host, p.Labels)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
