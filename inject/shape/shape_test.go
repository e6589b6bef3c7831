package shape_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/inject/shape"
)

var key = []byte("0123456789abcdef0123456789abcdef")

// formats are what clients and secret scanners take for a key of the provider.
var formats = map[string]string{
	"sallyport":             `^sp_ph_[a-z2-7]{26}$`,
	"github":                `^ghp_[A-Za-z0-9]{36}$`,
	"github-app":            `^ghs_[A-Za-z0-9]{36}$`,
	"github-pat":            `^github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}$`,
	"gitlab":                `^glpat-[A-Za-z0-9_-]{20}$`,
	"openai":                `^sk-proj-[A-Za-z0-9_-]{74}T3BlbkFJ[A-Za-z0-9_-]{74}$`,
	"anthropic":             `^sk-ant-api03-[A-Za-z0-9_-]{93}AA$`,
	"slack":                 `^xoxb-[0-9]{10,13}-[0-9]{10,13}-[A-Za-z0-9]{24}$`,
	"stripe":                `^sk_live_[A-Za-z0-9]{99}$`,
	"stripe-test":           `^sk_test_[A-Za-z0-9]{99}$`,
	"aws-access-key-id":     `^AKIA[A-Z2-7]{16}$`,
	"aws-secret-access-key": `^[A-Za-z0-9/+]{40}$`,
	"npm":                   `^npm_[A-Za-z0-9]{36}$`,
	"pypi":                  `^pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}$`,
	"google":                `^AIza[A-Za-z0-9_-]{35}$`,
	"jwt":                   `^eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$`,
}

var (
	visible = regexp.MustCompile(`(?i)sally|sp_ph`)
	suspect = regexp.MustCompile(`(?i)dummy|placeholder|changeme|example|xxxx`)
)

// Ledger: SI-8. Case: C16
func TestPlaceholdersHaveTheShapeOfTheirProvider(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, name := range shape.Names() {
		s, ok := shape.Named(name)
		format := regexp.MustCompile(formats[name])
		if !ok || formats[name] == "" {
			t.Fatalf("no format for %s", name)
		}
		for i := range 1000 {
			p := s.Derive(key, "box-1", fmt.Sprint(i))
			if !format.MatchString(p) || len(p) != s.Len() || !strings.HasPrefix(p, s.Prefix()) {
				t.Fatalf("%s: %q", name, p)
			}
			if seen[p] != "" {
				t.Fatalf("%s and %s share %q", name, seen[p], p)
			}
			seen[p] = name
			if !visible.MatchString(p) {
				t.Errorf("%s: nothing shows that %q is no key", name, p)
			}
			if suspect.MatchString(p) {
				t.Errorf("%s: %q looks like a mistake to clients that look for such words", name, p)
			}
		}
	}
	others := make([]string, 0, len(formats))
	for _, name := range shape.Names() {
		s, _ := shape.Named(name)
		others = append(others, s.Derive(key, "box-2", "X"))
	}
	for p := range seen {
		for _, other := range others {
			if strings.Contains(p, other) || strings.Contains(other, p) {
				t.Fatalf("%q and %q", p, other)
			}
		}
	}
}

func TestChecksums(t *testing.T) {
	t.Parallel()
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for name, prefix := range map[string]string{"github": "ghp_", "github-app": "ghs_", "github-pat": "github_pat_", "npm": "npm_"} {
		s, _ := shape.Named(name)
		p := strings.TrimPrefix(s.Derive(key, "box", "A"), prefix)
		random, check := p[:len(p)-6], p[len(p)-6:]
		var n uint64
		for _, c := range check {
			n = n*62 + uint64(strings.IndexRune(alphabet, c)) // an index
		}
		if n != uint64(crc32.ChecksumIEEE([]byte(random))) {
			t.Errorf("%s: %s isn't the checksum of %s", name, check, random)
		}
	}
}

func TestJWTCanBeDecoded(t *testing.T) {
	t.Parallel()
	s, _ := shape.Named("jwt")
	parts := strings.Split(s.Derive(key, "box", "A"), ".")
	for i, part := range parts {
		raw, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if i < 2 && json.Unmarshal(raw, &fields) != nil {
			t.Errorf("part %d is %q", i, raw)
		}
	}
}

func TestDerivationDependsOnEveryPart(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, of := range [][]string{{"box", "AB"}, {"boxA", "B"}, {"bo", "xAB"}, {"", "boxAB"}, {"box", "AB", ""}} {
		seen[shape.Default.Derive(key, of...)] = true
	}
	seen[shape.Default.Derive([]byte("another"), "box", "AB")] = true
	if len(seen) != 6 {
		t.Errorf("%d different placeholders", len(seen))
	}
	first := shape.Default.Derive(key, "a", "b")
	if second := shape.Default.Derive(key, "a", "b"); second != first {
		t.Error("the second time it is another")
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	cases := []struct {
		pattern string
		ok      bool
	}{
		{`e2b_[0-9a-f]{40}`, true},
		{`key-[A-Z]{10}-([0-9]{20})\.v1`, true},
		{`e2b_[0-9a-f]{15}`, false}, // 60 bits
		{`e2b[0-9a-f]{40}`, false},
		{`[0-9a-f]{40}`, false},
		{`e2b_[0-9a-f]+`, false},
		{`e2b_[0-9a-f]{40,50}`, false},
		{`e2b_.{40}`, false},
		{`e2b_[^a]{40}`, false},
		{`e2b_\s[0-9a-f]{40}`, false},
		{`e2b_|[0-9a-f]{40}`, false},
		{`(?i)e2b_[0-9a-f]{40}`, false},
		{`e2b_[0-9a-f]{600}`, false},
		{`é2b_[0-9a-f]{40}`, false},
		{`(`, false},
		{``, false},
	}
	for _, c := range cases {
		s, err := shape.Parse(c.pattern)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if err == nil && !regexp.MustCompile("^(?:"+c.pattern+")$").MatchString(s.Derive(key, "box", "A")) {
			t.Errorf("%s makes %q", c.pattern, s.Derive(key, "box", "A"))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`e2b_[0-9a-f]{40}`)
	f.Add(`key-[A-Z]{10}-([0-9]{20})\.v1`)
	f.Fuzz(func(t *testing.T, pattern string) {
		s, err := shape.Parse(pattern)
		if err != nil {
			return
		}
		p := s.Derive(key, "box", "A")
		if !regexp.MustCompile("^(?:"+pattern+")$").MatchString(p) || len(p) != s.Len() {
			t.Fatalf("%q makes %q", pattern, p)
		}
	})
}
