package policy_test

import (
	"fmt"
	"testing"

	"github.com/sallyport/sallyport/policy"
)

// workloads are policies of 200 rules, each with a host that makes the most of
// them work.
func workloads() map[string]struct {
	rules []policy.Rule
	host  string
} {
	fill := func(format string) []policy.Rule {
		rules := make([]policy.Rule, policy.MaxRules)
		for i := range rules {
			rules[i] = allow(fmt.Sprintf(format, i))
		}
		return rules
	}
	// What long policies look like: mostly names, some suffixes, few globs.
	mixed := fill("host%d.example.com")
	for i := 0; i < len(mixed); i += 4 {
		mixed[i] = allow(fmt.Sprintf("*.team%d.example.net", i))
	}
	for i := 2; i < len(mixed); i += 10 {
		mixed[i] = deny(fmt.Sprintf("build-%d-*.region?.example.com", i))
	}
	mixed[len(mixed)-1] = allow("*.example.com")
	return map[string]struct {
		rules []policy.Rule
		host  string
	}{
		"mixed":         {mixed, "build-92-x.us.example.com"},
		"mixed_denied":  {mixed, "telemetry.vendor.example.org"},
		"exact":         {fill("host%d.example.com"), "host199.example.com"},
		"suffix":        {fill("*.team%d.example.com"), "a.b.team199.example.com"},
		"glob":          {fill("api-%d-*.example.com"), "api-199-x.example.com"},
		"glob_inner":    {fill("svc%d.*.example.com"), "svc199.eu.example.com"},
		"glob_no_tail":  {fill("svc%d.*"), "svc199.example"},
		"glob_no_start": {fill("*-%d.example.com"), "api-199.example.com"},
		"glob_two":      {fill("a*b*-%d.example.com"), "aabb-199.example.com"},
		"deep_host":     {fill("*.team%d.example.com"), "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.example.org"},
	}
}

// Ledger: NP-25
func BenchmarkDecide(b *testing.B) {
	for name, w := range workloads() {
		b.Run(name, func(b *testing.B) {
			p, h := mustCompile(b, w.rules...), mustHost(b, w.host)
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(h)
			}
		})
	}
}

func BenchmarkCanonicalHost(b *testing.B) {
	for _, host := range []string{"api.example.com", "API.Example.com.", "bücher.example", "2001:db8::1"} {
		b.Run(host, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = policy.CanonicalHost(host)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	doc := policy.Document{Rules: workloads()["mixed"].rules}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := policy.Compile(doc); err != nil {
			b.Fatal(err)
		}
	}
}

// Ledger: NP-25
func TestDecideAllocatesNothing(t *testing.T) {
	for name, w := range workloads() {
		p, h := mustCompile(t, w.rules...), mustHost(t, w.host)
		if n := testing.AllocsPerRun(1000, func() { p.Decide(h) }); n != 0 {
			t.Errorf("%s: %v allocations in a decision", name, n)
		}
	}
}
