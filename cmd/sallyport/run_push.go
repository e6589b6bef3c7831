package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/broker"
)

// grantFlags say what all granted repositories have in common.
type grantFlags struct {
	auth string
	env  string
	push []string
}

func (f *grantFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.auth, "git-auth", string(broker.AuthToken), "hand git a short-lived `token` that can only read, or, with \"edge\", a placeholder")
	flags.StringVar(&f.env, "git-token-env", "", "with --git-auth edge, the `VARIABLE` that holds the placeholder for the forge's\nREST API (default GH_TOKEN for github.com, else GIT_TOKEN)")
	flags.StringSliceVar(&f.push, "push", nil, "limit what may be pushed: patterns of refs such as refs/heads/agent/*, and of\n`RULES` force, delete, tags, max=SIZE")
}

// apply completes a grant.
func (f *grantFlags) apply(g *broker.Grant) {
	g.GitAuth = broker.Auth(f.auth)
	if g.GitAuth == broker.AuthEdge {
		g.TokenEnv = f.env
	}
	if len(f.push) > 0 && g.Access == broker.Write {
		g.Push = f.rules()
	}
}

// rules reads --push. What is no rule is a pattern, which the grant checks.
func (f *grantFlags) rules() *broker.Push {
	p := &broker.Push{}
	for _, rule := range f.push {
		size, limits := strings.CutPrefix(rule, "max=")
		switch {
		case limits:
			p.MaxPack = size
		case rule == "force":
			p.Force = true
		case rule == "delete":
			p.Delete = true
		case rule == "tags":
			p.Tags = true
		default:
			p.Refs = append(p.Refs, rule)
		}
	}
	return p
}
