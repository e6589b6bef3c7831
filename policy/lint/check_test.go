package lint_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/hostlang/hosttest"
	"github.com/sallyport/sallyport/policy/lint"
)

// No rule that is called unreachable decides a host, and the rules that are
// said to hide it decide all hosts that it matches.
func TestAgreesWithBruteForce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	var hosts []policy.Host
	hosttest.EveryHost("ab1-.", 5, func(h policy.Host) { hosts = append(hosts, h) })
	for range 200 {
		doc := hosttest.RandomPolicy(r)
		findings, err := lint.Check(doc, lint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := policy.Compile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			if f.Code != lint.UnreachableRule && f.Code != lint.DuplicateRule && f.Code != lint.RuleAfterStar {
				continue
			}
			checkFinding(t, doc, f)
			alone, err := policy.Compile(policy.Document{Rules: doc.Rules[f.Rule : f.Rule+1]})
			if err != nil {
				t.Fatal(err)
			}
			var only []policy.Rule
			for _, i := range f.Related {
				only = append(only, doc.Rules[i])
			}
			hiding, err := policy.Compile(policy.Document{Rules: only})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range hosts {
				if all.Decide(h).Rule == f.Rule {
					t.Fatalf("%+v: rule %d is unreachable and decides %s", doc, f.Rule, h)
				}
				if alone.Decide(h).Rule == 0 && hiding.Decide(h).Rule == policy.DefaultRule {
					t.Fatalf("%+v: rule %d matches %s, which rules %v don't", doc, f.Rule, h, f.Related)
				}
			}
		}
	}
}

// Ledger: NP-23
func TestBindings(t *testing.T) {
	t.Parallel()
	doc := policy.Document{Rules: []policy.Rule{
		{HostGlob: "{api,own}.example.com", Action: policy.Allow},
		{HostGlob: "*.example.com", Action: policy.Allow},
	}}
	var bindings []lint.Binding
	for _, name := range []string{"own.example.com", "wide.example.com", "denied.test"} {
		h, err := policy.CanonicalHost(name)
		if err != nil {
			t.Fatal(err)
		}
		bindings = append(bindings, lint.Binding{Name: strings.ToUpper(name[:strings.IndexByte(name, '.')]), Host: h})
	}
	findings, err := lint.Check(doc, lint.Options{Bindings: bindings})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range findings {
		if f.Code == lint.WideBinding || f.Code == lint.DeniedBinding {
			got = append(got, fmt.Sprint(f.Code, " ", f.Rule, " ", f.Message))
		}
	}
	want := []string{
		"denied-binding -1 DENIED is bound to denied.test, which is denied",
		"wide-binding 1 WIDE is bound to wide.example.com, which is allowed only by the wider *.example.com",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	findings, err = lint.Check(policy.Document{Unrestricted: true}, lint.Options{Bindings: bindings[:1]})
	if err != nil || len(findings) != 1 || findings[0].Code != lint.WideBinding {
		t.Errorf("%+v, %v", findings, err)
	}
}

func TestInvalidDocumentHasNoFindings(t *testing.T) {
	t.Parallel()
	if _, err := lint.Check(policy.Document{Rules: []policy.Rule{{HostGlob: "a b"}}}, lint.Options{}); err == nil {
		t.Error("accepted")
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, format := range []string{"host%d.example.com", "*.team%d.example.com", "api-%d-*.example.com", "*-%d.example.com", "svc%d.*.example.com"} {
		b.Run(format, func(b *testing.B) {
			var doc policy.Document
			for i := range policy.MaxRules {
				doc.Rules = append(doc.Rules, policy.Rule{HostGlob: strings.ReplaceAll(format, "%d", fmt.Sprint(i)), Action: policy.Allow})
			}
			for b.Loop() {
				if _, err := lint.Check(doc, lint.Options{PublicSuffix: isSuffix}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
