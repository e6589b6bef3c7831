package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/control"
	"github.com/sallyport/sallyport/sandboxd/githelper"
	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// trustDir is where in a sandbox the files are that its variables name.
const trustDir = "/etc/sallyport"

// openBoundary pushes the secrets and opens the boundary over the network's
// sockets. It returns the placeholders by variable.
func (p *runPlan) openBoundary(ctx context.Context, id string, edge *control.Client, n *runs.Network) (map[string]string, error) {
	values, err := p.secrets.values(ctx, id)
	if err != nil {
		return nil, err
	}
	for name, value := range values {
		if err := edge.SetSecret(ctx, name, value.Reveal()); err != nil {
			return nil, fmt.Errorf("secret %s: %w", name, err)
		}
	}
	if err := p.git.push(ctx, p.secrets.sources, edge.SetSecret); err != nil {
		return nil, err
	}
	return edge.Open(ctx,
		boundary.Spec{ID: id, NetworkPolicy: p.policy, Bindings: p.secrets.bindings, Git: p.git.grants},
		control.Listener{Kind: control.ListenProxy, Socket: n.Proxy},
		control.Listener{Kind: control.ListenTransparent, Socket: n.Transparent},
		control.Listener{Kind: control.ListenDNS, Socket: n.DNS},
		control.Listener{Kind: control.ListenBroker, Socket: n.Broker})
}

// fetchTrust returns what makes a sandbox trust the edge.
func fetchTrust(ctx context.Context, edge *control.Client) (*certs.Trust, error) {
	ca, err := edge.Trust(ctx)
	if err != nil {
		return nil, err
	}
	roots, err := certs.SystemRoots()
	if err != nil {
		return nil, err
	}
	return certs.NewTrust(trustDir, []byte(ca), roots)
}

// startSandbox starts the sandbox.
func (p *runPlan) startSandbox(ctx context.Context, provider *runs.Provider, id string, n *runs.Network, trust *certs.Trust) (*runs.Sandbox, error) {
	files, err := p.git.files()
	if err != nil {
		return nil, err
	}
	all := trustFiles(trust, p.flags.image)
	maps.Copy(all, files)
	maps.Copy(all, p.files)
	sandbox, err := provider.Start(ctx, runs.Spec{
		ID:        id,
		Network:   n,
		Image:     p.flags.image,
		Workspace: p.flags.workspace,
		Files:     all,
		Limits:    p.flags.limits(),
	})
	if err != nil {
		return nil, diagnose(ctx, provider, err)
	}
	return sandbox, nil
}

// trustFiles returns the files of trust that fit the image. The host image has
// the host's /usr, where nothing can be placed.
func trustFiles(trust *certs.Trust, image string) map[string]runs.File {
	root := image
	if image == "host" {
		root = "/"
	}
	files := map[string]runs.File{}
	for name, data := range trust.Files() {
		files[name] = runs.File{Data: data, Mode: 0o644}
	}
	for name, data := range trust.StoreFiles() {
		if image == "host" && strings.HasPrefix(name, "/usr/") {
			continue
		}
		st, err := os.Stat(filepath.Join(root, path.Dir(name)))
		if name == "/etc/ssl/certs/ca-certificates.crt" || err == nil && st.IsDir() {
			files[name] = runs.File{Data: data, Mode: 0o644}
		}
	}
	return files
}

// environment returns all variables of the command. Nothing of the caller's
// gets in but the kind of its terminal.
func (p *runPlan) environment(trust *certs.Trust, placeholders map[string]string) []string {
	env := p.basics(p.flags.user)
	if term := os.Getenv("TERM"); p.flags.tty && term != "" {
		env["TERM"] = term
	}
	maps.Copy(env, p.env)
	maps.Copy(env, trustEnv(trust))
	maps.Copy(env, placeholders)
	return list(env)
}

// platform returns the variables of commands of ours in the sandbox, which the
// caller's don't reach.
func (p *runPlan) platform(trust *certs.Trust) []string {
	env := p.basics("user")
	maps.Copy(env, trustEnv(trust))
	return list(env)
}

// basics are what every command has.
func (p *runPlan) basics(user string) map[string]string {
	env := map[string]string{
		"PATH":    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME":    "/home/user",
		"USER":    user,
		"LOGNAME": user,
		"SHELL":   "/bin/sh",
		"LANG":    "C.UTF-8",
	}
	if user == "root" {
		env["HOME"] = "/root"
	}
	maps.Copy(env, githelper.Env(p.git.granted, nil))
	return env
}

func trustEnv(trust *certs.Trust) map[string]string {
	return trust.Env(&url.URL{Scheme: "http", Host: runs.ProxyAddr})
}

// list returns variables as programs take them.
func list(env map[string]string) []string {
	all := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		all = append(all, name+"="+env[name])
	}
	return all
}
