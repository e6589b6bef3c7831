package hostlang_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/hostlang"
)

// rules makes a document of globs; one that begins with "+" is allowed, others
// are denied.
func rules(globs ...string) policy.Document {
	var doc policy.Document
	for _, g := range globs {
		r := policy.Rule{HostGlob: strings.TrimPrefix(g, "+")}
		if r.HostGlob != g {
			r.Action = policy.Allow
		}
		doc.Rules = append(doc.Rules, r)
	}
	return doc
}

func newSpace(t testing.TB, docs ...policy.Document) *hostlang.Space {
	t.Helper()
	s, err := hostlang.New(docs...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFindRule(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 40)
	cases := []struct {
		name  string
		globs []string
		rule  int
		want  string // "" if there is none
	}{
		{"exact", []string{"a.test"}, 0, "a.test"},
		{"any name", []string{"*"}, 0, "g"},
		{"under", []string{"*.x.test"}, 0, "a.x.test"},
		{"after a wider rule", []string{"*.x.test", "a.x.test"}, 1, ""},
		{"apex", []string{"*.x.test", "x.test"}, 1, "x.test"},
		{"default", []string{"*"}, policy.DefaultRule, ""},
		{"default beside names", []string{"*.*", "?"}, policy.DefaultRule, "ag"},
		{"union", []string{"[a-m]*.x.test", "[n-z]*.x.test", "[0-9]*.x.test", "_*.x.test", "*.y.test", "[!-].x.test", "[!-]*.x.test"}, 6, ""},
		{"union with a gap", []string{"[a-m]*.x.test", "[o-z]*.x.test", "[0-9_]*.x.test", "[!-]*.x.test"}, 3, "n.x.test"},
		{"one label or more", []string{"a.*.test", "a.**.test"}, 1, "a.a.a.test"},
		{"one label or more, all", []string{"a.**.test", "a.*.test"}, 1, ""},
		{"overlap too long for a label", []string{long + "*.t", "*-" + long + ".t"}, 1, "a-" + long + ".t"},
		{"address", []string{"10.0.0.1", "*.*", "a?", "*.test", "?"}, 0, "10.0.0.1"},
		{"mapped address", []string{"10.0.0.1", "::ffff:10.0.0.1"}, 1, ""},
		{"address by the star", []string{"?", "**.?", "**.*?", "?*", "*"}, 4, "192.0.2.1"},
		{"numbers end no name", []string{"a.[!0-9]*", "a.[0-9][!0-9]*", "a.[0-9]"}, 2, ""},
		{"hexadecimal numbers end no name", []string{"a.0x[0-9a-f]"}, 0, ""},
		{"nearly a number", []string{"a.0x*[0-9a-f]"}, 0, "a.0xg0"},
		{"hyphen at an end", []string{"a.[-]*.test"}, 0, ""},
		{"spelt internationalised label", []string{"*.bücher.example"}, 0, "a.xn--bcher-kva.example"},
		{"internationalised labels", []string{"xn--*.test"}, 0, "xn--4ca.test"},
		{"braces", []string{"{a,b}.test", "{b,a}.test", "{a,b,c}.test"}, 2, "c.test"},
		{"braces hidden", []string{"{a,b}.test", "{b,a}.test", "{a,b,c}.test"}, 1, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, found, err := newSpace(t, rules(c.globs...)).Find(hostlang.Rule(c.rule))
			if err != nil || found != (c.want != "") || h.String() != c.want {
				t.Errorf("found %q, %v, %v; want %q", h, found, err, c.want)
			}
		})
	}
}

// Two patterns whose only common words have labels or names that are too long
// have no host in common.
func TestLengthsAreExact(t *testing.T) {
	t.Parallel()
	a30, b30 := strings.Repeat("a", 30), strings.Repeat("b", 30)
	cases := []struct {
		left, right string
		want        bool
	}{
		{a30 + "*.t", "a*" + b30 + ".t", true},
		{a30 + "*.t", "a*" + b30 + "cccc.t", false},
		{strings.Repeat("a.", 60) + "**.t", "**." + strings.Repeat("b.", 60) + "t", true},
		{strings.Repeat("a.", 70) + "**.t", "a.**." + strings.Repeat("b.", 70) + "t", false},
	}
	for _, c := range cases {
		_, found, err := newSpace(t, rules(c.left), rules(c.right)).Find(hostlang.Rule(0), hostlang.Rule(0))
		if err != nil || found != c.want {
			t.Errorf("%s and %s: %v, %v", c.left, c.right, found, err)
		}
	}
}

func TestUndecidedIsSaid(t *testing.T) {
	t.Parallel()
	_, found, err := newSpace(t, rules("xn--q[q]*-*.test")).Find(hostlang.Rule(0))
	if found || !errors.Is(err, hostlang.ErrUndecided) {
		t.Errorf("%v, %v", found, err)
	}
}

func TestUnrestricted(t *testing.T) {
	t.Parallel()
	s := newSpace(t, policy.Document{Unrestricted: true}, rules("*.corp.test", "+*"))
	h, found, err := s.Find(s.Verdict(0, policy.Allow), s.Verdict(1, policy.Deny))
	if err != nil || !found || h.String() != "a.corp.test" {
		t.Errorf("%q, %v, %v", h, found, err)
	}
	if _, found, err := s.Find(s.Verdict(0, policy.Deny), nil); found || err != nil {
		t.Errorf("an unrestricted policy denies: %v, %v", found, err)
	}
}

// Too many combinations are refused, not guessed about.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	var globs []string
	for i := range 200 {
		globs = append(globs, fmt.Sprintf("a*%d*.test", i+1000))
	}
	if _, _, err := newSpace(t, rules(globs...)).Outcomes(); !errors.Is(err, hostlang.ErrTooComplex) {
		t.Errorf("%v", err)
	}
	h, found, err := newSpace(t, rules(globs...)).Find(hostlang.Rule(199))
	if err != nil || !found || h.String() != "a1199.test" {
		t.Errorf("%q, %v, %v", h, found, err)
	}
}

func TestSamplesAreCanonical(t *testing.T) {
	t.Parallel()
	// Each sample is what nothing but itself leaves over.
	for _, want := range []string{"xn--bcher-kva", "xn--80ak6aa92e"} {
		h, found, err := newSpace(t, rules("xn--*"+want[len(want)-5:]+".test")).Find(hostlang.Rule(0))
		if err != nil || !found || h.String() != want+".test" {
			t.Errorf("%q, %v, %v", h, found, err)
		}
	}
}
