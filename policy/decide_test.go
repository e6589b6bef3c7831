package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/policy"
)

func mustCompile(t testing.TB, rules ...policy.Rule) *policy.Policy {
	t.Helper()
	p, err := policy.Compile(policy.Document{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func allow(glob string) policy.Rule { return policy.Rule{HostGlob: glob, Action: policy.Allow} }
func deny(glob string) policy.Rule  { return policy.Rule{HostGlob: glob, Action: policy.Deny} }

// globTable is the meaning of globs, one row each.
//
// Ledger: NP-42, NP-43, NP-44, NP-45, NP-46. Case: B01
var globTable = []struct {
	glob         string
	match, other []string
}{
	{"api.example.com",
		[]string{"api.example.com", "API.Example.COM", "api.example.com."},
		[]string{"x.api.example.com", "example.com", "api.example.com.evil.test", "xapi.example.com"}},
	{"API.Example.com.", []string{"api.example.com"}, []string{"example.com"}},
	{"*.example.com",
		[]string{"a.example.com", "a.b.example.com", "a.b.c.d.e.f.example.com"},
		[]string{"example.com", "badexample.com", "example.com.evil.test", "com", "10.0.0.5", "::1"}},
	{".example.com", []string{"a.example.com", "a.b.example.com"}, []string{"example.com", "badexample.com"}},
	{"**.example.com", []string{"a.example.com", "a.b.example.com"}, []string{"example.com"}},
	{"*.trusted.test", []string{"a.b.trusted.test"}, []string{"nottrusted.test", "trusted.test.evil.test", "trusted.test"}},
	{"*", []string{"a", "a.b", "10.0.0.5", "::1", "xn--bcher-kva.example"}, nil},
	{"**", []string{"a", "a.b", "10.0.0.5", "::1"}, nil},
	{"api.*.com", []string{"api.foo.com"}, []string{"api.foo.bar.com", "api.com", "x.api.foo.com", "api.foo.com.evil.test"}},
	{"api.*", []string{"api.com"}, []string{"api.co.uk", "api", "x.api.com"}},
	{"api-*.example.com", []string{"api-1.example.com", "api-1-2.example.com"}, []string{"api-1.b.example.com", "api.example.com", "xapi-1.example.com"}},
	{"*-api.example.com", []string{"eu-api.example.com"}, []string{"api.example.com", "a.eu-api.example.com"}},
	{"a*z*9.example.com", []string{"az9.example.com", "abzc9.example.com", "aznz9.example.com"}, []string{"a9.example.com", "az.9.example.com"}},
	{"a?.example.com", []string{"a1.example.com"}, []string{"a.example.com", "a12.example.com", "a.b.example.com"}},
	{"[ab].example.com", []string{"a.example.com", "B.example.com"}, []string{"c.example.com", "ab.example.com"}},
	{"x[0-9a-f-].example.com", []string{"x0.example.com", "xf.example.com"}, []string{"xg.example.com"}},
	{"x[!a].example.com", []string{"xb.example.com", "x1.example.com"}, []string{"xa.example.com", "x.example.com"}},
	{"a[!b]c.com", []string{"axc.com"}, []string{"abc.com", "a.c.com"}},
	{"{a,b}.example.com", []string{"a.example.com", "b.example.com"}, []string{"ab.example.com", "a.b.example.com", "example.com"}},
	{"{*.,}example.com", []string{"example.com", "a.b.example.com"}, []string{"badexample.com"}},
	{"api{,-{eu,us}}.{example.com,test}", []string{"api.test", "api-eu.example.com", "api-us.test"}, []string{"apieu.test", "api.example.test"}},
	{"*.api-*.example.com", []string{"a.api-1.example.com", "a.b.api-1.example.com"}, []string{"api-1.example.com", "a.api.example.com", "api-1.x.example.com"}},
	{"a.**.example.com", []string{"a.b.example.com", "a.b.c.example.com"}, []string{"a.example.com", "b.b.example.com"}},
	{"**.a.**.b.**.example.com", []string{"x.a.a.b.b.y.example.com", "x.y.a.z.z.b.q.example.com"}, []string{"a.x.b.y.example.com", "x.a.b.y.example.com"}},
	{"*.*", []string{"a.b", "a.b.c"}, []string{"a", "10.0.0.5"}},
	{"bücher.example", []string{"bücher.example", "BÜCHER.example", "xn--bcher-kva.example"}, []string{"bucher.example"}},
	{"*.bücher.example", []string{"a.xn--bcher-kva.example"}, []string{"bücher.example"}},
	{"api-*.bücher.example", []string{"api-1.xn--bcher-kva.example"}, []string{"bücher.example"}},
	// Lower case and UTS 46 differ on these: the label must not be lowered first.
	{"api-*.STRAẞE.example", []string{"api-1.STRAẞE.example", "api-1.strasse.example"}, []string{"api-1.straße.example"}},
	{"10.0.0.5", []string{"10.0.0.5", "::ffff:10.0.0.5"}, []string{"10.0.0.6", "a.test"}},
	{"::1", []string{"::1", "[0:0:0:0:0:0:0:1]"}, []string{"::2", "localhost"}},
	{"[2001:db8::1]", []string{"2001:DB8::1"}, []string{"2001:db8::2"}},
	{"::ffff:10.0.0.5", []string{"10.0.0.5"}, []string{"::a00:5"}},
	{"{10.0.0.5,::1}", []string{"10.0.0.5", "::1"}, []string{"10.0.0.6"}},
}

func TestGlobs(t *testing.T) {
	t.Parallel()
	for _, c := range globTable {
		p := mustCompile(t, allow(c.glob))
		for _, host := range c.match {
			want := policy.Decision{Action: policy.Allow, Rule: 0, Glob: c.glob, Reason: policy.ReasonAllowed}
			if got := p.Decide(mustHost(t, host)); got != want {
				t.Errorf("%s on %s: %+v, want %+v", c.glob, host, got, want)
			}
		}
		for _, host := range c.other {
			want := policy.Decision{Rule: policy.DefaultRule, Reason: policy.ReasonDenied}
			if got := p.Decide(mustHost(t, host)); got != want {
				t.Errorf("%s on %s: %+v, want %+v", c.glob, host, got, want)
			}
		}
	}
}

// Ledger: NP-8, NP-45, NP-47. Case: B01, B30
func TestGlobsRefused(t *testing.T) {
	t.Parallel()
	cases := []struct{ glob, msg string }{
		{"", "write * for every host"},
		{strings.Repeat("a.", 127), "longer than 253"},
		{"example.com:443", `write "example.com"`},
		{"*.example.com:443", `write "*.example.com"`},
		{"*:*", `write "*"`},
		{"https://example.com", "a URL is not a host"},
		{"https://*.example.com:443/", "a URL is not a host"},
		{"a/b", `'/'`}, {"a*/b", `'/'`}, {"a b", `' '`}, {" *", `' '`}, {"* ", "followed by a dot"}, {"a* ", `' '`}, {"a\x00", `'\x00'`}, {"u@a.test", `'@'`},
		{"a%2e.test", `'%'`}, {`a\*.test`, "backslash"}, {"a,b", `','`}, {"a+(b)", `'+'`},
		{".", "empty label"}, {"*.", "empty label"}, {"**.", "empty label"}, {"a..b", "empty label"}, {"*..b", "empty label"},
		{"a*..b", "empty label"}, {"..b", "empty label"}, {"{a,}", "it is empty"}, {"{a,.b}..c", "empty label"},
		{"*trusted.test", "followed by a dot"}, {"**trusted.test", "inside a label write *"}, {"***", "inside a label write *"},
		{"a**b.test", "inside a label write *"}, {"?*x.test", ""},
		{"[ab.test", "unclosed ["}, {"a[b.test", "unclosed ["}, {"ab].test", "] without a ["}, {"a[].test", "empty class"}, {"a[!].test", "empty class"},
		{"a[b.c].test", "unclosed ["}, {"a[z-a].test", "class"}, {"a[a/].test", "class"}, {"a[!a-z0-9_-].test", "matches nothing"},
		{"{a,b.test", "unclosed {"}, {"a,b}.test", "'}' without a {"}, {"}", "'}' without a {"},
		{"{{{{{{{{{a}}}}}}}}}.test", "nest deeper than 8"},
		{strings.Repeat("{a,b}", 7), "more than 64"}, {"{" + strings.Repeat("a,", 64) + "b}", "more than 64"},
		{"10.0.0.*", "exact address"}, {"10.0.*.5", "exact address"}, {"10.0.0.?", "exact address"}, {"*.0.0.1", "ends in a number"},
		{"*.10.0.0.5", "no subdomains"}, {"*.5", "ends in a number"}, {"a*.b.0x1", "ends in a number"}, {"127.1", "ends in a number"},
		{"0x7f.0.0.1", "ends in a number"}, {"10.0.0.0/8", `'/'`}, {"fe80::1%eth0", "zone"}, {"::*", "not an IPv6"}, {"[10.0.0.5]", "unclosed ["}, {"[10::zz]", "IPv6"},
		{"bü*.example", "must be ASCII"}, {"xn--zzzzzzzzzzzz.example", "invalid \"xn--\""}, {"*.xn--zzzzzzzzzzzz.example", "invalid \"xn--\""},
		{"a*.xn--zzzzzzzzzzzz.example", "invalid \"xn--\""}, {"1א.com", "internationalised"}, {"a*.1א.com", "internationalised"},
		{"-a.test", "hyphen"}, {"a*.b-.test", "hyphen"}, {"\xff.test", `invalid "xn--"`},
		{strings.Repeat("?", 64) + ".test", "longer than 63"}, {"a*." + strings.Repeat("b", 64), "longer than 63"},
	}
	for _, c := range cases {
		_, err := policy.Compile(policy.Document{Rules: []policy.Rule{allow(c.glob)}})
		if c.msg == "" {
			if err != nil {
				t.Errorf("%q: %v", c.glob, err)
			}
			continue
		}
		var e *policy.Error
		if !errors.As(err, &e) || e.Path != "rules[0].match.host_glob" || !strings.Contains(e.Msg, c.msg) {
			t.Errorf("%q: error %v, want one with %q", c.glob, err, c.msg)
		}
	}
}

// Ledger: NP-15, NP-16, NP-18, NP-20. Case: B29
func TestDecideFirstMatch(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		rules []policy.Rule
		want  map[string]int // host to deciding rule
	}{
		{"broad deny first", []policy.Rule{deny("*.corp.test"), allow("api.corp.test")}, map[string]int{"api.corp.test": 0, "corp.test": -1}},
		{"narrow allow first", []policy.Rule{allow("api.corp.test"), deny("*.corp.test")}, map[string]int{"api.corp.test": 0, "x.corp.test": 1}},
		{"allow then deny", []policy.Rule{allow("a.test"), deny("a.test")}, map[string]int{"a.test": 0}},
		{"deny then allow", []policy.Rule{deny("a.test"), allow("a.test")}, map[string]int{"a.test": 0}},
		{"only one", []policy.Rule{allow("registry.example.com")}, map[string]int{"registry.example.com": 0, "example.com": -1}},
		{"all but one", []policy.Rule{deny("blocked.example.com"), allow("*")}, map[string]int{"blocked.example.com": 0, "other.test": 1, "::1": 1}},
		{"every form", []policy.Rule{
			allow("a?.x.test"), deny("*.y.test"), allow("a.*.test"), deny("ab.x.test"), allow("*.x.test"), deny("*"), allow("zz.test"),
		}, map[string]int{"ab.x.test": 0, "a.y.test": 1, "a.x.test": 2, "abc.x.test": 4, "zz.test": 5, "10.0.0.5": 5}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := mustCompile(t, c.rules...)
			for host, want := range c.want {
				d := p.Decide(mustHost(t, host))
				if d.Rule != want {
					t.Errorf("%s: rule %d, want %d", host, d.Rule, want)
				}
				if want >= 0 && (d.Action != c.rules[want].Action || d.Glob != c.rules[want].HostGlob) {
					t.Errorf("%s: %+v doesn't say what rule %d does", host, d, want)
				}
				if (d.Action == policy.Allow) != (d.Reason == policy.ReasonAllowed) {
					t.Errorf("%s: %v with reason %s", host, d.Action, d.Reason)
				}
			}
		})
	}
}

// Ledger: NP-4, NP-5, NP-19. Case: B20
func TestDecideWithoutRules(t *testing.T) {
	t.Parallel()
	open, err := policy.Compile(policy.Document{Unrestricted: true})
	if err != nil {
		t.Fatal(err)
	}
	denied := policy.Decision{Rule: policy.DefaultRule, Reason: policy.ReasonDenied}
	bad := policy.Decision{Rule: policy.DefaultRule, Reason: policy.ReasonBadHost}
	allowed := policy.Decision{Action: policy.Allow, Rule: policy.DefaultRule, Reason: policy.ReasonAllowed}
	cases := []struct {
		name      string
		p         *policy.Policy
		want      policy.Decision
		onBadHost policy.Decision
	}{
		{"nil", nil, denied, bad},
		{"zero", new(policy.Policy), denied, bad},
		{"no rules", mustCompile(t), denied, bad},
		{"only deny", mustCompile(t, deny("x.test")), denied, bad},
		{"unrestricted", open, allowed, bad},
		{"every host", mustCompile(t, allow("*")), policy.Decision{Action: policy.Allow, Glob: "*", Reason: policy.ReasonAllowed}, bad},
	}
	for _, c := range cases {
		if got := c.p.Decide(mustHost(t, "a.test")); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		if got := c.p.Decide(policy.Host{}); got != c.onBadHost {
			t.Errorf("%s on no host: %+v, want %+v", c.name, got, c.onBadHost)
		}
	}
	if d := (policy.Decision{}); d.Action != policy.Deny {
		t.Errorf("the zero Decision is %v", d.Action)
	}
}

func TestCompileKeepsItsOwnRules(t *testing.T) {
	t.Parallel()
	rules := []policy.Rule{deny("a.test")}
	p := mustCompile(t, rules...)
	before := slices.Clone(rules)
	rules[0].Action = policy.Allow
	if d := p.Decide(mustHost(t, "a.test")); d.Action != before[0].Action {
		t.Error("changing a document changed the policy compiled from it")
	}
}

// Ledger: NP-20. Case: B29
func TestExplain(t *testing.T) {
	t.Parallel()
	doc := policy.Document{Rules: []policy.Rule{
		allow("api.test"), deny("*.example.com"), deny("api-*.test"), deny("*.*.example.org"), allow("a[bc].x.example.net"), allow("{a,b}.test"), deny("::1"), allow("*"), allow("x.test"),
	}}
	cases := []struct {
		host string
		rule int
		why  []string
	}{
		{"example.com", 7, []string{
			"it is only api.test",
			"it is only what is under example.com, not example.com itself",
			"example.com is not under test",
			"example.com is not under example.org",
			"example.com is not under x.example.net",
			"it is only a.test; it is only b.test",
			"it is only ::1",
		}},
		{"badexample.com", 7, []string{"it is only api.test", "badexample.com ends in example.com, but not after a dot"}},
		{"api-1.x.test", 7, []string{"it is only api.test", "api-1.x.test is not under example.com", "a wildcard inside a name stays within one label: it has 2 labels where api-1.x.test has 3"}},
		{"10.0.0.5", 7, []string{"it is only api.test", "an address is matched only by *, ** or the exact address"}},
		{"ad.x.example.net", 7, []string{"", "", "ad.x.example.net is not under test", "", "its wildcards do not fit"}},
		{"api.test", 0, nil},
	}
	for _, c := range cases {
		e, err := policy.Explain(doc, mustHost(t, c.host))
		if err != nil {
			t.Fatal(err)
		}
		if e.Decision.Rule != c.rule || len(e.Missed) != c.rule {
			t.Errorf("%s: decided by %d, %d missed; want %d", c.host, e.Decision.Rule, len(e.Missed), c.rule)
		}
		for i, want := range c.why {
			if got := e.Missed[i]; want != "" && got.Why != want {
				t.Errorf("%s, %s: %q, want %q", c.host, got.Glob, got.Why, want)
			}
		}
	}
	if _, err := policy.Explain(policy.Document{Rules: []policy.Rule{allow("")}}, mustHost(t, "a")); err == nil {
		t.Error("explained a document that doesn't compile")
	}
	if e, err := policy.Explain(doc, policy.Host{}); err != nil || e.Decision.Reason != policy.ReasonBadHost || e.Missed != nil {
		t.Errorf("no host: %+v, %v", e, err)
	}
}

// Globs that a backtracking matcher would take years for.
//
// Ledger: NP-47
func TestHostileGlobs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 62)
	for _, glob := range []string{
		"?" + strings.Repeat("*a", 29) + "*[bc].test",
		strings.Repeat("**.a*.", 35) + "*.test",
		"**." + strings.Repeat("a*a*.**.", 25) + "test",
		strings.Repeat("?*", 31) + "[bc].test",
	} {
		p := mustCompile(t, allow(glob))
		for _, host := range []string{long + "d.test", strings.Repeat("aa.", 80) + "test", long + "." + long + "." + long + ".test"} {
			if d := p.Decide(mustHost(t, host)); d.Action == policy.Allow && !naiveMatch(glob, mustHost(t, host)) {
				t.Errorf("%s matches %s", glob, host)
			}
		}
	}
	braces := slices.Repeat([]policy.Rule{allow("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}*[bc].test")}, 17)
	mustCompile(t, braces[:16]...)
	_, err := policy.Compile(policy.Document{Rules: braces})
	var e *policy.Error
	if !errors.As(err, &e) || e.Path != "rules[16].match.host_glob" || !strings.Contains(e.Msg, "more than 1024") {
		t.Errorf("17 rules of 64 alternatives: %v", err)
	}
}
