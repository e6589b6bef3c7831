package suggest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/suggest"
)

func line(host, verdict, reason string) string {
	return fmt.Sprintf(`{"boundary":"ci","host":%q,"verdict":%q,"reason":%q}`+"\n", host, verdict, reason)
}

const denied = "network_policy_denied"

var log = line("a.cdn.example.com", "allow", "allowed") +
	line("a.cdn.example.com", "allow", "allowed") +
	line("b.cdn.example.com", "allow", "allowed") +
	line("x.c.cdn.example.com", "allow", "allowed") +
	line("seen.example.net", "observe", denied) +
	line("refused.example.net", "deny", denied) +
	line("10.0.0.5", "allow", "allowed") +
	line("one.test", "allow", "allowed") +
	line("two.test", "allow", "allowed") +
	line("a b", "deny", "bad_host") +
	line("smtp.example.net", "deny", "port_denied")

func isSuffix(name string) bool { return !strings.Contains(name, ".") }

func TestSuggestions(t *testing.T) {
	t.Parallel()
	allowed, err := policy.Compile(policy.Document{Rules: []policy.Rule{{HostGlob: "*.test", Action: policy.Allow}}})
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name    string
		options suggest.Options
		want    []string
	}{
		{"used", suggest.Options{}, []string{"10.0.0.5 1", "a.cdn.example.com 2", "b.cdn.example.com 1", "one.test 1", "seen.example.net 1", "two.test 1", "x.c.cdn.example.com 1"}},
		{"refused too", suggest.Options{Refused: true, Allowed: allowed}, []string{"10.0.0.5 1", "a.cdn.example.com 2", "b.cdn.example.com 1", "refused.example.net 1", "seen.example.net 1", "x.c.cdn.example.com 1"}},
		{"generalised, not over a public suffix", suggest.Options{Generalise: 2, PublicSuffix: isSuffix}, []string{"*.cdn.example.com 4", "10.0.0.5 1", "one.test 1", "seen.example.net 1", "two.test 1"}},
		{"too few to generalise", suggest.Options{Generalise: 3, PublicSuffix: isSuffix, Allowed: allowed}, []string{"10.0.0.5 1", "a.cdn.example.com 2", "b.cdn.example.com 1", "seen.example.net 1", "x.c.cdn.example.com 1"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			collector := suggest.New(c.options)
			if err := collector.Read(strings.NewReader(log)); err != nil {
				t.Fatal(err)
			}
			suggestions, err := collector.Suggestions()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range suggestions {
				got = append(got, fmt.Sprint(s.Glob, " ", s.Crossings))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if _, err := policy.Compile(suggest.Document(suggestions)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTooManyHosts(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := range policy.MaxRules + 1 {
		log.WriteString(line(fmt.Sprintf("h%d.example.com", i), "allow", "allowed"))
	}
	c := suggest.New(suggest.Options{})
	if err := c.Read(strings.NewReader(log.String())); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Suggestions(); !errors.Is(err, suggest.ErrTooMany) {
		t.Errorf("%v", err)
	}
}
