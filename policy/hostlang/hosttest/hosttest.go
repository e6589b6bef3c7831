// Package hosttest makes hosts and policies for tests that hold exact answers
// about all hosts against brute force.
package hosttest

import (
	"math/rand/v2"
	"strings"

	"github.com/sallyport/sallyport/policy"
)

// EveryHost calls f with each canonical host of at most max characters of the
// alphabet, the shortest first.
func EveryHost(alphabet string, most int, f func(policy.Host)) (count int) {
	buf := make([]byte, 0, most)
	var grow func(left int)
	grow = func(left int) {
		if left == 0 {
			if h, err := policy.CanonicalHost(string(buf)); err == nil && len(h.String()) == len(buf) {
				count++
				f(h)
			}
			return
		}
		for i := range len(alphabet) {
			c := alphabet[i]
			if (c == '.' || c == '-') && (len(buf) == 0 || left == 1 || buf[len(buf)-1] == '.') {
				continue
			}
			buf = append(buf, c)
			grow(left - 1)
			buf = buf[:len(buf)-1]
		}
	}
	for length := 1; length <= most; length++ {
		grow(length)
	}
	return count
}

// RandomPolicy returns a policy of labels and wildcards over a small alphabet.
func RandomPolicy(r *rand.Rand) policy.Document {
	labels := []string{"a", "b", "1", "ab", "a1", "*", "**", "a*", "*-b", "?", "[ab]", "[!a]", "b?", "a*b", "{a,b*}", "b*1", "a-b"}
	var doc policy.Document
	for range 1 + r.IntN(7) {
		var parts []string
		for range 1 + r.IntN(3) {
			parts = append(parts, labels[r.IntN(len(labels))])
		}
		rule := policy.Rule{HostGlob: strings.Join(parts, "."), Action: policy.Action(r.IntN(2))} // 0 or 1
		if _, err := policy.Patterns(rule.HostGlob); err == nil {
			doc.Rules = append(doc.Rules, rule)
		}
	}
	return doc
}
