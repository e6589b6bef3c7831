package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/broker"
)

// parseGit parses git flags beside a file of issuers.
func parseGit(t *testing.T, issuers string, args ...string) (*runGit, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "issuers.yaml")
	if err := os.WriteFile(file, []byte(issuers), 0o600); err != nil {
		t.Fatal(err)
	}
	var f gitFlags
	cmd := &cobra.Command{Use: "run"}
	f.register(cmd)
	if err := cmd.ParseFlags(append([]string{"--issuers", file}, args...)); err != nil {
		t.Fatal(err)
	}
	return f.parse()
}

const oneIssuer = "hub: {kind: static, host: git.example.com, tokens: [{repository: octo/app, secret: 'env:TOKEN'}]}\n"

func TestGitFlags(t *testing.T) {
	t.Parallel()
	two := oneIssuer + "lab: {kind: static, host: lab.example.com, tokens: [{repository: a/b, secret: 'file:token'}]}\n"
	app := broker.Grant{Repository: "octo/app", Host: "git.example.com", Issuer: "hub", GitAuth: broker.AuthToken}
	write := app
	write.Access = broker.Write
	held := app
	held.GitAuth, held.TokenEnv = broker.AuthEdge, "HUB_TOKEN"
	limited := write
	limited.Push = &broker.Push{Refs: []string{"refs/heads/agent/*", "refs/heads/x"}, Force: true, Tags: true, MaxPack: "5MiB"}
	lab := broker.Grant{Repository: "group/sub/app", Host: "lab.example.com", Access: broker.Read, Issuer: "lab", GitAuth: broker.AuthToken}
	cases := []struct {
		name, issuers string
		args          []string
		want          []broker.Grant
	}{
		{"the only issuer and its host", oneIssuer, []string{"--git", "octo/app"}, []broker.Grant{app}},
		{"with a host", oneIssuer, []string{"--git", "git.example.com/octo/app:write"}, []broker.Grant{write}},
		{"groups", two, []string{"--git", "lab.example.com/group/sub/app:read@lab"}, []broker.Grant{lab}},
		{"placeholder", oneIssuer, []string{"--git", "octo/app", "--git-auth", "edge", "--git-token-env", "HUB_TOKEN"}, []broker.Grant{held}},
		{"rules", oneIssuer, []string{"--git", "octo/app:write", "--push", "refs/heads/agent/*,force,tags", "--push", "refs/heads/x,max=5MiB"}, []broker.Grant{limited}},
		{"rules are for what may be written", oneIssuer, []string{"--git", "octo/app", "--push", "force"}, []broker.Grant{app}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseGit(t, c.issuers, c.args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.grants); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGitFlagsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		issuers string
		args    []string
		want    string
	}{
		"unknown issuer":  {oneIssuer, []string{"--git", "octo/app@other"}, "no issuer \"other\""},
		"no repository":   {oneIssuer, []string{"--git", "octo"}, "owner/repository"},
		"access":          {oneIssuer, []string{"--git", "octo/app:admin"}, "expected \"read\" or \"write\""},
		"auth":            {oneIssuer, []string{"--git", "octo/app", "--git-auth", "none"}, "expected \"token\" or \"edge\""},
		"pattern":         {oneIssuer, []string{"--git", "octo/app:write", "--push", "main"}, "expected refs such as"},
		"size":            {oneIssuer, []string{"--git", "octo/app:write", "--push", "max=much"}, "max_pack"},
		"twice":           {oneIssuer, []string{"--git", "octo/app", "--git", "Octo/App.git"}, "granted twice"},
		"broken issuers":  {"hub: {kind: static, colour: red}", []string{"--git", "octo/app"}, "colour"},
		"unknown secret":  {"hub: {kind: static, host: a.example.com, tokens: [{repository: a/b, secret: 'what'}]}", []string{"--git", "a/b"}, "secret"},
		"several issuers": {oneIssuer + "b: {kind: static, host: b.example.com}\n", []string{"--git", "octo/app"}, "expected @ISSUER"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := parseGit(t, c.issuers, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	var f gitFlags
	f.repositories = []string{"octo/app"}
	if _, err := f.parse(); err == nil || !strings.Contains(err.Error(), "--issuers") {
		t.Errorf("without issuers: %v", err)
	}
}
