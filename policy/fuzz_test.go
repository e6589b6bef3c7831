package policy_test

import (
	"encoding/json"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sallyport/sallyport/policy"
)

// A canonical host is one that every later reader takes for the same host, and
// rules and traffic agree on it.
//
// Ledger: NP-19, NP-45
func FuzzCanonicalHost(f *testing.F) {
	for _, s := range []string{
		"API.Example.com.", "bücher.example", "xn--bcher-kva.example", "[::ffff:10.0.0.5]", "127.1", "a..b", "a_b.r3---sn.test",
		"１２７。0.0.1", "fe80::1%lo", "a@b", "xn--a\u00ad", "0x7f.1", "①.com", "Kelvin\u212a.test", "\u0130.test", "a\u3002",
	} {
		f.Add(s)
	}
	everything := mustCompile(f, allow("*"))
	f.Fuzz(func(t *testing.T, s string) {
		h, err := policy.CanonicalHost(s)
		if err != nil {
			if d := everything.Decide(h); d.Action != policy.Deny || d.Reason != policy.ReasonBadHost {
				t.Fatalf("%q is malformed and decided as %+v", s, d)
			}
			if !strings.ContainsAny(s, "*?[{") && !strings.HasPrefix(s, ".") {
				if _, err := policy.Compile(policy.Document{Rules: []policy.Rule{allow(s)}}); err == nil {
					t.Fatalf("%q is no host but a rule", s)
				}
			}
			return
		}
		checkCanonical(t, h)
		if d := mustCompile(t, allow(s)).Decide(h); d.Rule != 0 {
			t.Fatalf("the rule %q does not match the host %q", s, h)
		}
		if d := mustCompile(t, deny(h.String()), allow("*")).Decide(h); d.Rule != 0 {
			t.Fatalf("the rule %q does not match the host %q", h, s)
		}
	})
}

func checkCanonical(t *testing.T, h policy.Host) {
	t.Helper()
	name := h.String()
	if again, err := policy.CanonicalHost(name); err != nil || again != h {
		t.Fatalf("%q is not canonical: %q, %v", name, again, err)
	}
	ip, err := netip.ParseAddr(name)
	if (err == nil) != h.IP().IsValid() || ip != h.IP() || ip.Is4In6() {
		t.Fatalf("%q has the address %v", name, h.IP())
	}
	if !ip.IsValid() && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
		t.Fatalf("%q has characters of no host", name)
	}
	if len(name) > policy.MaxHostLen || strings.Contains(name, "..") || strings.Trim(name, ".") != name {
		t.Fatalf("%q is malformed", name)
	}
	u, err := url.Parse("https://" + net.JoinHostPort(name, "443") + "/")
	if err != nil || u.Hostname() != name || u.Port() != "443" || u.User != nil {
		t.Fatalf("%q in a URL is read as %v, %v", name, u, err)
	}
}

// Whatever passes as an authority is read alike by Go's own parsers.
//
// Case: A18, B04, B09, B35
func FuzzCanonicalAuthority(f *testing.F) {
	for _, s := range []string{
		"a.test:443", "[::1]:443", "a.test", "::1:443", "a.test:443@evil.test:443", "[a.test]:443", "a.test:0443", "a.test:", "[fe80::1%25lo]:1", "[::1]",
	} {
		f.Add(s, uint16(443))
	}
	f.Fuzz(func(t *testing.T, s string, def uint16) {
		h, port, err := policy.CanonicalAuthority(s, def)
		if err != nil {
			if !h.IsZero() || port != 0 {
				t.Fatalf("%q: %q:%d beside an error", s, h, port)
			}
			return
		}
		checkCanonical(t, h)
		full := net.JoinHostPort(h.String(), strconv.Itoa(int(port)))
		if h2, port2, err := policy.CanonicalAuthority(full, 0); err != nil || h2 != h || port2 != port {
			t.Fatalf("%q became %q, which is read as %q:%d, %v", s, full, h2, port2, err)
		}
		if strings.Trim(s, "\x20\x7f") != s || port == 0 {
			t.Fatalf("%q passed with port %d", s, port)
		}
		host, written, err := net.SplitHostPort(s)
		if err != nil {
			host, written = strings.Trim(s, "[]"), strconv.Itoa(int(def))
		}
		if again, err := policy.CanonicalHost(host); err != nil || again != h || written != strconv.Itoa(int(port)) {
			t.Fatalf("%q is %q:%d here and %q:%s elsewhere", s, h, port, host, written)
		}
	})
}

// A document survives encoding, and says the same alone and inside of a
// configuration file.
//
// Ledger: NP-1, NP-14
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		twoRules, `{}`, `null`, `{"version":"v1","rules":[]}`, `{"version":"v1","version":"v1","rules":[]}`, "version: v1\nrules: []\n",
		"version: v1\nrules:\n- match: {host_glob: \"*.x\"}\n  action: {type: deny}\n", "? a\n: b", "&a {}", "{}\n---\n{}", "\ufeff{}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := policy.Parse(data)
		if err != nil {
			if !doc.Equal(policy.Document{}) {
				t.Fatalf("a document beside the error %v", err)
			}
			return
		}
		encoded, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		again, err := policy.Parse(encoded)
		if err != nil || !again.Equal(doc) {
			t.Fatalf("%s is read back as %+v, %v", encoded, again, err)
		}
		var embedded policy.Document
		if err := yaml.UnmarshalStrict(data, &embedded); err == nil && !embedded.Equal(doc) {
			t.Fatalf("alone it is %+v, embedded %+v", doc, embedded)
		}
	})
}

// Decide and Explain find the same rule as a matcher that tries one after the
// other.
//
// Ledger: NP-15, NP-16, NP-47. Case: B29
func FuzzDecide(f *testing.F) {
	f.Add("*.corp.test\napi.corp.test", "api.corp.test")
	f.Add("a?.x.test\n*.y.test\na.*.test\n**.x.test\n*", "ab.x.test")
	f.Add("**.a.**.b\n{a,*.}x.b", "q.a.z.z.b")
	f.Add("a*b*c.test\n[!a-c]x-*.test\n*-1.test", "abbc.test")
	f.Add("10.0.0.5\n::1\n*.5x", "::ffff:10.0.0.5")
	f.Add("bücher.example\n*.b\xc3\xbccher.example", "a.BÜCHER.example")
	f.Add("{*.,}example.com\nx[a-].y", "x-.y")
	for _, c := range globTable {
		f.Add(c.glob, c.match[0])
	}
	f.Fuzz(func(t *testing.T, globs, host string) {
		h, err := policy.CanonicalHost(host)
		if err != nil {
			return
		}
		var rules []policy.Rule
		for i, glob := range strings.Split(globs, "\n") {
			r := policy.Rule{HostGlob: glob, Action: policy.Action(i % 2)}
			if _, err := policy.Compile(policy.Document{Rules: []policy.Rule{r}}); err != nil {
				continue
			}
			if strings.ContainsAny(glob, "*?[{") && strings.Trim(glob, asciiText) != "" || len(rules) == policy.MaxRules {
				continue
			}
			rules = append(rules, r)
		}
		doc := policy.Document{Rules: rules}
		p, err := policy.Compile(doc)
		if err != nil {
			return // each compiles; together their braces are too many
		}
		d := p.Decide(h)
		if want := naiveFirst(rules, h); d.Rule != want {
			t.Fatalf("%q: rule %d, want %d of %+v", h, d.Rule, want, rules)
		}
		if e, err := policy.Explain(doc, h); err != nil || e.Decision != d {
			t.Fatalf("explained as %+v, %v; decided as %+v", e, err, d)
		}
	})
}

// asciiText are the characters that a valid ASCII glob may have.
const asciiText = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.*?[]!{},:"
