package hostlang_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/hostlang"
	"github.com/sallyport/sallyport/policy/hostlang/hosttest"
)

// oracle is what brute force finds about two documents: the length of the
// shortest host of each pair of deciding rules.
type oracle struct {
	docs     [2]policy.Document
	policies [2]*policy.Policy
	shortest map[[2]int]policy.Host
}

func newOracle(t testing.TB, before, after policy.Document) *oracle {
	o := &oracle{docs: [2]policy.Document{before, after}, shortest: map[[2]int]policy.Host{}}
	for i, doc := range o.docs {
		var err error
		if o.policies[i], err = policy.Compile(doc); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func (o *oracle) see(h policy.Host) {
	pair := [2]int{o.policies[0].Decide(h).Rule, o.policies[1].Decide(h).Rule}
	if _, ok := o.shortest[pair]; !ok {
		o.shortest[pair] = h
	}
}

// check holds the exact answers against those of brute force: whatever was
// seen is found, with a witness that isn't longer; and each witness is what
// Decide says it is.
func (o *oracle) check(t *testing.T) {
	t.Helper()
	space := newSpace(t, o.docs[0], o.docs[1])
	outcomes, _, err := space.Outcomes()
	if err != nil {
		t.Fatalf("%+v: %v", o.docs, err)
	}
	found := map[[2]int]policy.Host{}
	for _, out := range outcomes {
		pair := [2]int{out.Rules[0], out.Rules[1]}
		found[pair] = out.Host
		for i, p := range o.policies {
			if d := p.Decide(out.Host); d.Rule != pair[i] {
				t.Errorf("%+v: %s is decided by rule %d, not %d", o.docs[i], out.Host, d.Rule, pair[i])
			}
		}
	}
	for pair, h := range o.shortest {
		w, ok := found[pair]
		if !ok {
			t.Errorf("%+v: rules %v decide %s, which wasn't found", o.docs, pair, h)
		} else if !h.IP().IsValid() && len(w.String()) > len(h.String()) {
			t.Errorf("%+v: rules %v: witness %s is longer than %s", o.docs, pair, w, h)
		}
	}
	o.checkVerdicts(t, space)
	o.checkRules(t, space, found)
}

// checkRules asks about each rule by itself, another walk with other short
// cuts.
func (o *oracle) checkRules(t *testing.T, space *hostlang.Space, found map[[2]int]policy.Host) {
	t.Helper()
	reachable := map[int]bool{}
	for pair := range found {
		reachable[pair[0]] = true
	}
	for rule := -1; rule < len(o.docs[0].Rules); rule++ {
		h, ok, err := space.Find(hostlang.Rule(rule))
		if errors.Is(err, hostlang.ErrUndecided) {
			continue
		}
		if err != nil || ok != reachable[rule] {
			t.Errorf("%+v: rule %d: found %q, %v, %v; outcomes say %v", o.docs[0], rule, h, ok, err, reachable[rule])
		}
	}
}

// checkVerdicts holds equality and widening.
func (o *oracle) checkVerdicts(t *testing.T, space *hostlang.Space) {
	t.Helper()
	for _, was := range []policy.Action{policy.Deny, policy.Allow} {
		seen := policy.Host{}
		for pair, h := range o.shortest {
			if space.Action(0, pair[0]) == was && space.Action(1, pair[1]) != was {
				seen = h
			}
		}
		h, ok, err := space.Find(space.Verdict(0, was), space.Verdict(1, 1-was))
		switch {
		case errors.Is(err, hostlang.ErrUndecided) && seen.IsZero():
		case err != nil:
			t.Errorf("%+v: %v", o.docs, err)
		case !ok && !seen.IsZero():
			t.Errorf("%+v: proved the same, but differ on %s", o.docs, seen)
		case ok && (o.policies[0].Decide(h).Action != was || o.policies[1].Decide(h).Action == was):
			t.Errorf("%+v: %s is no difference", o.docs, h)
		}
	}
}

// Random policies, held against every host of a small alphabet.
func TestAgreesWithBruteForce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var hosts []policy.Host
	hosttest.EveryHost("ab1-.", 6, func(h policy.Host) { hosts = append(hosts, h) })
	for i := range 400 {
		o := newOracle(t, hosttest.RandomPolicy(r), hosttest.RandomPolicy(r))
		for _, h := range hosts {
			o.see(h)
		}
		if o.check(t); t.Failed() {
			t.Fatalf("policy %d", i)
		}
	}
}

// The same for ten million hosts.
func TestAgreesWithBruteForceOnTenMillionHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("short: ten million hosts take a while")
	}
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var oracles []*oracle
	for range 4 {
		oracles = append(oracles, newOracle(t, hosttest.RandomPolicy(r), hosttest.RandomPolicy(r)))
	}
	see := func(h policy.Host) {
		for _, o := range oracles {
			o.see(h)
		}
	}
	count := hosttest.EveryHost("ab1-.", 11, see) + hosttest.EveryHost("abx0.", 9, see)
	if count < 10_000_000 {
		t.Errorf("only %d hosts", count)
	}
	for _, o := range oracles {
		o.check(t)
	}
}

// Any two policies: the exact answers agree with brute force over short names.
func FuzzAgreesWithBruteForce(f *testing.F) {
	f.Add("*.a\na.*", "a.b.a\n*", uint16(5))
	f.Add("a*b*.1a\n?-*.b", "{a,b}.*\n[!a]*", uint16(9))
	f.Add("a.**.b\n**.a\n*", "a.*.b", uint16(0))
	var hosts []policy.Host
	hosttest.EveryHost("ab1-.", 5, func(h policy.Host) { hosts = append(hosts, h) })
	f.Fuzz(func(t *testing.T, before, after string, actions uint16) {
		o := newOracle(t, fuzzed(before, actions), fuzzed(after, actions>>8))
		for _, h := range hosts {
			o.see(h)
		}
		o.check(t)
	})
}

// fuzzed makes a policy of at most eight globs that may be used.
func fuzzed(text string, actions uint16) policy.Document {
	var doc policy.Document
	for glob := range strings.SplitSeq(text, "\n") {
		if _, err := policy.Patterns(glob); err != nil || len(doc.Rules) == 8 {
			continue
		}
		doc.Rules = append(doc.Rules, policy.Rule{HostGlob: glob, Action: policy.Action(actions >> len(doc.Rules) & 1)}) // 0 or 1
		if _, err := policy.Compile(doc); err != nil {
			doc.Rules = doc.Rules[:len(doc.Rules)-1]
		}
	}
	return doc
}

// Lengths of the forms of 200 rules that long policies have.
func BenchmarkOutcomes(b *testing.B) {
	for _, format := range []string{
		"host%d.example.com", "*.team%d.example.com", "api-%d-*.example.com", "svc%d.*.example.com", "svc%d.*", "*-%d.example.com", "a*b*-%d.example.com", "a%d.**.b%d.test",
	} {
		b.Run(format, func(b *testing.B) {
			var globs []string
			for i := range policy.MaxRules {
				globs = append(globs, strings.ReplaceAll(format, "%d", fmt.Sprint(i)))
			}
			doc := rules(globs...)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := newSpace(b, doc).Outcomes(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
