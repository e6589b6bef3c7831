package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/edge/strict"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/sandboxd/githelper"
	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// gitFlags say which repositories git has credentials for.
type gitFlags struct {
	repositories []string
	issuers      string
	each         grantFlags
	verify       bool
}

func (f *gitFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.repositories, "git", nil, "let git fetch, or push too, `[HOST/]OWNER/REPO[:read|write][@ISSUER]`;\nthe host must be allowed as well")
	flags.StringVar(&f.issuers, "issuers", "", "take the issuers of git credentials from `FILE`: the key \"issuers\" of the\nedge's configuration, without the key")
	f.each.register(cmd)
	flags.BoolVar(&f.verify, "git-verify", true, "look at each repository of --git, with its credential, before the command\nbegins")
	_ = cmd.MarkFlagFilename("issuers", "yaml", "yml", "json")
}

// runGit are the grants of a command and who mints for them.
type runGit struct {
	grants  []broker.Grant
	granted []broker.Granted
	issuers map[string]config.DocumentIssuer // their secrets are in the edge's memory
	secrets map[string]secret.Ref            // by their name there

	verified bool // that git works, before the command begins
}

// parse checks the flags. It reads no secret yet.
func (f *gitFlags) parse() (*runGit, error) {
	g := &runGit{secrets: map[string]secret.Ref{}, verified: f.verify}
	if f.issuers == "" && len(f.repositories) > 0 {
		return nil, usageErrorf("--git: expected --issuers FILE to say who mints credentials")
	}
	if f.issuers != "" {
		if err := g.readIssuers(f.issuers); err != nil {
			return nil, fmt.Errorf("%s: %w", f.issuers, err)
		}
	}
	for _, text := range f.repositories {
		grant, err := g.parseGrant(text)
		f.each.apply(&grant)
		if err == nil {
			_, err = broker.Compile(append(g.grants, grant))
		}
		if err != nil {
			return nil, usageErrorf("--git %s: %w", text, bareGrant(err))
		}
		g.grants = append(g.grants, grant)
	}
	compiled, err := broker.Compile(g.grants)
	if err != nil {
		return nil, err
	}
	g.granted = compiled.All()
	return g, nil
}

// bareGrant takes the place in a list that no user wrote off an error.
func bareGrant(err error) error {
	var e *broker.GrantError
	if errors.As(err, &e) {
		return errors.New(e.Msg)
	}
	return err
}

// parseGrant reads [HOST/]OWNER/REPO[:read|write][@ISSUER]. Without an issuer
// the only one is meant; without a host, the issuer's.
func (g *runGit) parseGrant(text string) (broker.Grant, error) {
	rest, name, named := strings.Cut(text, "@")
	if !named {
		if len(g.issuers) != 1 {
			return broker.Grant{}, errors.New("expected @ISSUER, because --issuers has several")
		}
		for only := range g.issuers {
			name = only
		}
	}
	issuer, known := g.issuers[name]
	if !known {
		return broker.Grant{}, fmt.Errorf("--issuers has no issuer %q", name)
	}
	path, access, _ := strings.Cut(rest, ":")
	grant := broker.Grant{Repository: path, Host: issuer.Host, Access: broker.Access(access), Issuer: name}
	if first, _, _ := strings.Cut(path, "/"); strings.Count(path, "/") > 1 && strings.Contains(first, ".") {
		grant.Host, grant.Repository, _ = strings.Cut(path, "/")
	}
	return grant, nil
}

// readIssuers reads the file, checks it as the edge does, and leads its secrets
// through the edge's memory: the edge reads nothing of the caller's.
func (g *runGit) readIssuers(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := strict.YAML(data, &g.issuers); err != nil {
		return err
	}
	trial := config.Document{State: "/", Listen: config.DocumentListen{Control: "/control"}, Issuers: g.issuers}
	if _, err := trial.Check("/"); err != nil {
		return err
	}
	dir := filepath.Dir(file)
	for name, issuer := range g.issuers {
		for i, ref := range secretsOf(&issuer) {
			if err := g.redirect(ref, fmt.Sprintf("issuer-%s-%d", name, i), dir); err != nil {
				return fmt.Errorf("issuers.%s: %w", name, err)
			}
		}
		g.issuers[name] = issuer
	}
	return nil
}

// secretsOf returns all places of an issuer that name secrets.
func secretsOf(i *config.DocumentIssuer) []*string {
	all := []*string{&i.PrivateKey, &i.Token}
	i.Tokens = append([]config.DocumentToken(nil), i.Tokens...)
	for n := range i.Tokens {
		all = append(all, &i.Tokens[n].Secret)
	}
	return all
}

// redirect replaces a reference by one to the edge's memory.
func (g *runGit) redirect(text *string, name, dir string) error {
	if *text == "" {
		return nil
	}
	kind, path, _ := strings.Cut(*text, ":")
	if kind == "file" && !filepath.IsAbs(path) {
		*text = "file:" + filepath.Join(dir, path)
	}
	ref, err := parseSource(*text)
	if err != nil {
		return err
	}
	g.secrets[name] = ref
	*text = "memory:" + name
	return nil
}

// push puts the issuers' secrets into the edge's memory.
func (g *runGit) push(ctx context.Context, sources map[string]secret.Source, set func(ctx context.Context, name string, value []byte) error) error {
	for name, ref := range g.secrets {
		got, err := sources[ref.Source].Read(ctx, ref.Name)
		if err != nil {
			return fmt.Errorf("secret of --issuers: %w", err)
		}
		// The edge's memory takes one line; issuers read keys with their line
		// ends escaped.
		line := bytes.ReplaceAll(bytes.ReplaceAll(got.Value.Reveal(), []byte("\r"), nil), []byte("\n"), []byte(`\n`))
		if err := set(ctx, name, line); err != nil {
			return fmt.Errorf("secret of --issuers: %w", err)
		}
	}
	return nil
}

// files returns the credential helper, if git needs one.
func (g *runGit) files() (map[string]runs.File, error) {
	if len(g.granted) == 0 {
		return nil, nil
	}
	program, err := githelper.Program()
	if err != nil {
		return nil, err
	}
	return map[string]runs.File{githelper.Path: {Data: program, Mode: 0o755}}, nil
}
