package broker_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/broker"
)

func rules(t *testing.T, p broker.Push) *broker.PushRules {
	t.Helper()
	grants, err := broker.Compile([]broker.Grant{{Repository: "octo/app", Issuer: "g", Access: broker.Write, Push: &p}})
	if err != nil {
		t.Fatal(err)
	}
	return grants.PushRules(grants.All()[0])
}

func TestPushRules(t *testing.T) {
	t.Parallel()
	agent := broker.Push{Refs: []string{"refs/heads/agent/*", "refs/heads/deep/**"}}
	everything := broker.Push{Refs: []string{"refs/heads/agent/*"}, Force: true, Delete: true, Tags: true}
	cases := []struct {
		push    broker.Push
		ref     string
		change  broker.Change
		refused string
	}{
		{agent, "refs/heads/agent/a", broker.Create, ""},
		{agent, "refs/heads/agent/a", broker.Move, ""},
		{agent, "refs/heads/agent/a/b", broker.Create, "to this ref"},
		{agent, "refs/heads/deep/a/b", broker.Create, ""},
		{agent, "refs/heads/Agent/a", broker.Create, "to this ref"},
		{agent, "refs/heads/agent", broker.Create, "to this ref"},
		{agent, "refs/heads/main", broker.Move, "to this ref"},
		{agent, "refs/heads/x/refs/heads/agent/a", broker.Create, "to this ref"},
		{agent, "refs/heads/agent/a", broker.Remove, "delete"},
		{agent, "refs/tags/v1", broker.Create, "tags"},
		{agent, "refs/pull/1/head", broker.Create, "to this ref"},
		{broker.Push{}, "refs/heads/main", broker.Move, ""},
		{broker.Push{}, "refs/for/main", broker.Create, "to this ref"},
		{everything, "refs/heads/agent/a", broker.Remove, ""},
		{everything, "refs/heads/main", broker.Remove, "to this ref"},
		{everything, "refs/tags/v1", broker.Move, ""},
		{everything, "refs/tags/v1", broker.Remove, ""},
		{broker.Push{Tags: true}, "refs/tags/v1", broker.Create, ""},
		{broker.Push{Tags: true}, "refs/tags/v1", broker.Move, "move tags"},
		{broker.Push{Tags: true}, "refs/tags/v1", broker.Remove, "delete"},
	}
	for _, c := range cases {
		got := rules(t, c.push).Refuse(c.ref, c.change)
		if (got == "") != (c.refused == "") || !strings.Contains(got, c.refused) {
			t.Errorf("%+v: %s %d: %q, want %q", c.push, c.ref, c.change, got, c.refused)
		}
	}
	if got := rules(t, broker.Push{MaxPack: "2MiB", Force: true}); got.MaxPack() != 2<<20 || !got.Force() {
		t.Errorf("a pack of %d bytes, force %t", got.MaxPack(), got.Force())
	}
}

func TestCompilePushAndAuth(t *testing.T) {
	t.Parallel()
	write := func(p broker.Push) broker.Grant {
		return broker.Grant{Repository: "octo/app", Issuer: "g", Access: broker.Write, Push: &p}
	}
	for name, c := range map[string]struct {
		grant broker.Grant
		path  string
	}{
		"push without write":  {broker.Grant{Repository: "octo/app", Issuer: "g", Push: &broker.Push{}}, "git[0].push"},
		"short ref":           {write(broker.Push{Refs: []string{"main"}}), "git[0].push"},
		"class":               {write(broker.Push{Refs: []string{"refs/heads/[a-z]"}}), "git[0].push"},
		"alternatives":        {write(broker.Push{Refs: []string{"refs/heads/{a,b}"}}), "git[0].push"},
		"tags as refs":        {write(broker.Push{Refs: []string{"refs/tags/*"}}), "git[0].push"},
		"many":                {write(broker.Push{Refs: make([]string, 51)}), "git[0].push"},
		"size":                {write(broker.Push{MaxPack: "much"}), "git[0].push"},
		"negative size":       {write(broker.Push{MaxPack: "-1"}), "git[0].push"},
		"auth":                {broker.Grant{Repository: "octo/app", Issuer: "g", GitAuth: "none"}, "git[0].git_auth"},
		"variable of a token": {broker.Grant{Repository: "octo/app", Issuer: "g", TokenEnv: "GH_TOKEN"}, "git[0].token_env"},
		"name of a variable":  {broker.Grant{Repository: "octo/app", Issuer: "g", GitAuth: broker.AuthEdge, TokenEnv: "a=b"}, "git[0].token_env"},
		"groups on GitHub":    {broker.Grant{Repository: "octo/sub/app", Issuer: "g"}, "git[0].repository"},
	} {
		_, err := broker.Compile([]broker.Grant{c.grant})
		var e *broker.GrantError
		if !errors.As(err, &e) || e.Path != c.path {
			t.Errorf("%s: error %v, want one about %s", name, err, c.path)
		}
	}
	grants, err := broker.Compile([]broker.Grant{
		{Repository: "octo/app", Issuer: "g", GitAuth: broker.AuthEdge},
		{Repository: "octo/site", Issuer: "g", GitAuth: broker.AuthEdge},
		{Repository: "a/b/c", Host: "git.example.com", Issuer: "g", GitAuth: broker.AuthEdge},
		{Repository: "a/d", Host: "git.example.com", Issuer: "g"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(grants.Placeholders(), " "); got != "GH_TOKEN GIT_TOKEN" {
		t.Errorf("placeholders %s", got)
	}
}
