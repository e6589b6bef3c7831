package policy

import (
	"fmt"
	"strings"
)

// Explanation says how a document decides on one host.
type Explanation struct {
	Host     Host
	Decision Decision
	// Missed holds the rules before the deciding one, or all rules if none
	// decided, each with the reason why it doesn't match.
	Missed []Miss
}

// Miss is a rule that does not match a host.
type Miss struct {
	Rule   int // index in the document
	Glob   string
	Action Action
	Why    string // for humans, in English
}

// Explain decides on h as [Policy.Decide] does and says why the earlier rules
// did not. The error is that of [Compile].
func Explain(d Document, h Host) (Explanation, error) {
	p, err := Compile(d)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{Host: h, Decision: p.Decide(h)}
	if h.IsZero() {
		return e, nil
	}
	earlier := d.Rules
	if e.Decision.Rule != DefaultRule {
		earlier = d.Rules[:e.Decision.Rule]
	}
	for i, r := range earlier {
		e.Missed = append(e.Missed, Miss{Rule: i, Glob: r.HostGlob, Action: r.Action, Why: whyMissed(r.HostGlob, h)})
	}
	return e, nil
}

// whyMissed explains a glob that compiles and does not match h.
func whyMissed(glob string, h Host) string {
	patterns, err := parseGlob(glob)
	if err != nil {
		return err.Error()
	}
	whys := make([]string, 0, len(patterns))
	for _, p := range patterns {
		whys = append(whys, p.whyMissed(h))
	}
	return strings.Join(whys, "; ")
}

func (p pattern) whyMissed(h Host) string {
	switch {
	case p.form == formExact:
		return fmt.Sprintf("it is only %s", p.name)
	case h.ip.IsValid():
		return "an address is matched only by *, ** or the exact address"
	case p.form == formUnder && h.name == p.name:
		return fmt.Sprintf("it is only what is under %s, not %s itself", p.name, p.name)
	case p.form == formUnder && strings.HasSuffix(h.name, p.name):
		return fmt.Sprintf("%s ends in %s, but not after a dot", h.name, p.name)
	case p.form == formUnder:
		return fmt.Sprintf("%s is not under %s", h.name, p.name)
	}
	return p.whyGlobMissed(h.name)
}

func (p pattern) whyGlobMissed(name string) string {
	text := name
	if p.name != "" {
		var ok bool
		if text, ok = strings.CutSuffix(name, "."+p.name); !ok {
			return fmt.Sprintf("%s is not under %s", name, p.name)
		}
	}
	if start := literalStart(p.head); !strings.HasPrefix(text, start) {
		return fmt.Sprintf("%s does not begin with %s", name, start)
	}
	deep := false
	for _, l := range p.head {
		deep = deep || l.kind == labelDeep
	}
	if want, got := len(p.head), 1+strings.Count(text, "."); !deep && want != got {
		return fmt.Sprintf("a wildcard inside a name stays within one label: it has %d labels where %s has %d",
			want+labels(p.name), name, got+labels(p.name))
	}
	return "its wildcards do not fit"
}

func labels(name string) int {
	if name == "" {
		return 0
	}
	return 1 + strings.Count(name, ".")
}
