package secret_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport/inject/secret"
)

func TestParseRef(t *testing.T) {
	t.Parallel()
	cases := []struct {
		in   string
		want secret.Ref
		ok   bool
	}{
		{"env:API_TOKEN", secret.Ref{Source: "env", Name: "API_TOKEN"}, true},
		{"file:/run/secrets/a:b", secret.Ref{Source: "file", Name: "/run/secrets/a:b"}, true},
		{"store:api-token", secret.Ref{Source: "store", Name: "api-token"}, true},
		{"vault:kv/team/app#token", secret.Ref{Source: "vault", Name: "kv/team/app#token"}, true},
		{"", secret.Ref{}, false},
		{"api-token", secret.Ref{}, false},
		{":x", secret.Ref{}, false},
		{"store:", secret.Ref{}, false},
		{"Store:x", secret.Ref{}, false},
		{" store:x", secret.Ref{}, false},
		{"store: x", secret.Ref{}, false},
		{"store:x\n", secret.Ref{}, false},
		{"store:a\x00b", secret.Ref{}, false},
		{"store:\xff", secret.Ref{}, false},
		{"1st:x", secret.Ref{}, false},
		{"a-b:x", secret.Ref{}, false},
		{"store:" + strings.Repeat("x", 5000), secret.Ref{}, false},
	}
	for _, c := range cases {
		got, err := secret.ParseRef(c.in)
		if (err == nil) != c.ok || got != c.want {
			t.Errorf("ParseRef(%q) = %+v, %v", c.in, got, err)
		}
		if c.ok && got.String() != c.in {
			t.Errorf("String of %q = %q", c.in, got)
		}
	}
}

// A value pasted in place of a reference must not come back in the error.
func TestParseRefHidesAPastedValue(t *testing.T) {
	t.Parallel()
	_, err := secret.ParseRef("ghp_" + canary)
	if err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("got %v", err)
	}
}

func FuzzParseRef(f *testing.F) {
	for _, s := range []string{"env:A", "file:/x", "store:a:b", ":", "vault:kv/a#b", "x:\u00a0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref, err := secret.ParseRef(s)
		if err != nil {
			return
		}
		if ref.String() != s {
			t.Fatalf("%q parsed to %+v", s, ref)
		}
	})
}
