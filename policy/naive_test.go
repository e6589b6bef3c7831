package policy_test

import (
	"regexp"
	"strings"

	"github.com/sallyport/sallyport/policy"
)

// naiveFirst is the meaning of a list of rules, written down a second time
// with nothing but regular expressions, for the real one to be held against.
// The globs must be valid, and ASCII if they have wildcards.
func naiveFirst(rules []policy.Rule, h policy.Host) int {
	for i, r := range rules {
		if naiveMatch(r.HostGlob, h) {
			return i
		}
	}
	return policy.DefaultRule
}

func naiveMatch(glob string, h policy.Host) bool {
	for _, g := range naiveBraces(glob) {
		if naiveMatchOne(g, h) {
			return true
		}
	}
	return false
}

func naiveMatchOne(glob string, h policy.Host) bool {
	if glob == "*" || glob == "**" {
		return true
	}
	if exact, err := policy.CanonicalHost(glob); err == nil {
		return exact == h
	}
	if h.IP().IsValid() {
		return false
	}
	if strings.HasPrefix(glob, ".") {
		glob = "*" + glob
	}
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(glob), "."), ".")
	for i, l := range labels {
		switch {
		case l == "**", l == "*" && i == 0:
			labels[i] = `[^.]+(?:\.[^.]+)*`
		case l == "*":
			labels[i] = `[^.]+`
		case !strings.ContainsAny(l, "*?["):
			if ascii, err := policy.CanonicalHost(l); err == nil {
				l = ascii.String()
			}
			labels[i] = regexp.QuoteMeta(l)
		default:
			labels[i] = naiveLabel(l)
		}
	}
	return regexp.MustCompile(`^(?:` + strings.Join(labels, `\.`) + `)$`).MatchString(h.String())
}

func naiveLabel(l string) string {
	out := ""
	for l != "" {
		switch l[0] {
		case '*':
			out += `[^.]*`
		case '?':
			out += `[^.]`
		case '[':
			class, rest, _ := strings.Cut(l[1:], "]")
			out += naiveClass(class)
			l = "]" + rest
		default:
			out += regexp.QuoteMeta(l[:1])
		}
		l = l[1:]
	}
	return out
}

func naiveClass(s string) string {
	inner, negated := strings.CutPrefix(s, "!")
	out := "["
	if negated {
		out = `[^.`
	}
	for inner != "" {
		if len(inner) > 2 && inner[1] == '-' {
			out += regexp.QuoteMeta(inner[:1]) + "-" + regexp.QuoteMeta(inner[2:3])
			inner = inner[3:]
			continue
		}
		out += `\x{` + hex(inner[0]) + `}`
		inner = inner[1:]
	}
	return out + "]"
}

func hex(b byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[b>>4], digits[b&15]})
}

// naiveBraces replaces the first pair of braces by each of its alternatives,
// again and again.
func naiveBraces(s string) []string {
	open := strings.IndexByte(s, '{')
	if open < 0 {
		return []string{s}
	}
	depth, from := 0, open+1
	var alternatives []string
	for i := open; i < len(s); i++ {
		switch {
		case s[i] == '{':
			depth++
		case s[i] == ',' && depth == 1:
			alternatives = append(alternatives, s[from:i])
			from = i + 1
		case s[i] == '}':
			if depth--; depth == 0 {
				alternatives = append(alternatives, s[from:i])
				var all []string
				for _, a := range alternatives {
					all = append(all, naiveBraces(s[:open]+a+s[i+1:])...)
				}
				return all
			}
		}
	}
	return []string{s}
}
