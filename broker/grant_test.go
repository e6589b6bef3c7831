package broker_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/sallyport/sallyport/broker"
)

func TestCompile(t *testing.T) {
	t.Parallel()
	good := broker.Grant{Repository: "Octo/App.git", Issuer: "github"}
	grants, err := broker.Compile([]broker.Grant{good})
	if err != nil {
		t.Fatal(err)
	}
	got := grants.All()[0]
	if got.Access != broker.Read || got.URL() != "https://github.com/octo/app.git" {
		t.Errorf("got %+v, %s; absent access must be the least", got, got.URL())
	}
	cases := []struct {
		name   string
		grants []broker.Grant
		path   string
	}{
		{"no repository", []broker.Grant{{Issuer: "github"}}, "git[0].repository"},
		{"a whole account", []broker.Grant{{Repository: "octo", Issuer: "github"}}, "git[0].repository"},
		{"glob", []broker.Grant{{Repository: "octo/*", Issuer: "github"}}, "git[0].repository"},
		{"no issuer", []broker.Grant{good, {Repository: "octo/b"}}, "git[1].issuer"},
		{"unknown access", []broker.Grant{{Repository: "octo/app", Issuer: "github", Access: "admin"}}, "git[0].access"},
		{"address", []broker.Grant{{Repository: "octo/app", Issuer: "github", Host: "192.0.2.1"}}, "git[0].host"},
		{"port", []broker.Grant{{Repository: "octo/app", Issuer: "github", Host: "git.example.com:8443"}}, "git[0].host"},
		{"twice", []broker.Grant{good, {Repository: "octo/app", Issuer: "github", Host: "GitHub.com.", Access: broker.Write}}, "git[1].repository"},
		{"too many", slices.Repeat([]broker.Grant{good}, broker.MaxGrants+1), "git"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := broker.Compile(c.grants)
			var e *broker.GrantError
			if !errors.As(err, &e) || e.Path != c.path {
				t.Errorf("error %v, want one about %s", err, c.path)
			}
		})
	}
}
