// Package toolhosts asks the tools of this machine which hosts they download
// from: a private mirror is as common as a public registry, so no host of a
// package manager is ever a constant (ledger NP-50).
//
// It runs the tools, reads nothing else and changes nothing. The CLI prints the
// hosts as rules of a policy, and the service shows them with its setup
// templates.
package toolhosts

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/policy"
)

// A Tool is something that downloads.
type Tool struct {
	Name  string
	About string // what its hosts are
	hosts func(ctx context.Context) ([]string, error)
}

// Tools returns the tools that can be asked, by name. The caller owns the
// slice.
func Tools() []Tool {
	return []Tool{
		{"apt", "package sources of apt", aptHosts},
		{"git", "remotes of the repository here", gitRemotes},
		{"github", "GitHub", func(context.Context) ([]string, error) {
			return []string{"github.com", "api.github.com", "codeload.github.com", "objects.githubusercontent.com", "github-cloud.s3.amazonaws.com"}, nil
		}},
		{"go", "module proxy and checksum database of go", goHosts},
		{"npm", "registry of npm", npmHosts},
		{"pip", "package index of pip", pipHosts},
	}
}

// Hosts asks the tool for the canonical hosts that it is configured to use here
// and now, each once. It is an error when the tool isn't there, doesn't answer
// within a minute, or names no host.
func (t Tool) Hosts(ctx context.Context) ([]string, error) {
	hosts, err := t.hosts(ctx)
	if err == nil && len(hosts) == 0 {
		err = fmt.Errorf("its configuration names no host")
	}
	return hosts, err
}

// Known returns the hosts of each of the named tools that can say. One that
// can't, because it isn't installed for example, is left out.
func Known(ctx context.Context, names []string) map[string][]string {
	known := map[string][]string{}
	for _, t := range Tools() {
		if !slices.Contains(names, t.Name) {
			continue
		}
		if hosts, err := t.Hosts(ctx); err == nil {
			known[t.Name] = hosts
		}
	}
	return known
}

func aptHosts(ctx context.Context) ([]string, error) {
	out, err := ask(ctx, "apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI)")
	return hostsOf(strings.Fields(out)), err
}

func npmHosts(ctx context.Context) ([]string, error) {
	out, err := ask(ctx, "npm", "config", "get", "registry")
	return hostsOf([]string{out}), err
}

// ask returns what a tool says about itself.
func ask(ctx context.Context, tool string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, tool, args...).Output()
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", tool, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// goHosts splits GOPROXY, a list with commas and bars in which "direct" and
// "off" are no hosts, and GOSUMDB, "NAME[+KEY] [URL]".
func goHosts(ctx context.Context) ([]string, error) {
	proxies, err := ask(ctx, "go", "env", "GOPROXY")
	if err != nil {
		return nil, err
	}
	urls := strings.FieldsFunc(proxies, func(r rune) bool { return r == ',' || r == '|' })
	sums, err := ask(ctx, "go", "env", "GOSUMDB")
	if err != nil {
		return nil, err
	}
	if fields := strings.Fields(sums); len(fields) > 1 {
		urls = append(urls, fields[1])
	} else if name, _, _ := strings.Cut(sums, "+"); strings.Contains(name, ".") {
		urls = append(urls, "https://"+name)
	}
	return hostsOf(urls), nil
}

// pipHosts takes the configured indexes, and where none is, asks pip's own code
// for the default one and for where that keeps its files.
func pipHosts(ctx context.Context) ([]string, error) {
	out, err := ask(ctx, "pip", "config", "list")
	if err != nil {
		return nil, err
	}
	var urls []string
	replaced := false
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if strings.HasSuffix(key, ".index-url") || strings.HasSuffix(key, ".extra-index-url") {
			urls = append(urls, strings.Fields(strings.Trim(value, `'"`))...)
			replaced = replaced || strings.HasSuffix(key, ".index-url")
		}
	}
	if !replaced {
		out, err := ask(ctx, "python3", "-c", "from pip._internal.models.index import PyPI as p; print(p.url, 'https://' + p.file_storage_domain)")
		if err != nil {
			return nil, err
		}
		urls = append(urls, strings.Fields(out)...)
	}
	return hostsOf(urls), nil
}

// gitRemotes are the hosts of remotes, also in the form user@host:path.
func gitRemotes(ctx context.Context) ([]string, error) {
	out, err := ask(ctx, "git", "config", "--get-regexp", `^remote\..*\.url$`)
	if err != nil {
		return nil, err
	}
	var urls []string
	for line := range strings.Lines(out) {
		_, remote, _ := strings.Cut(strings.TrimSpace(line), " ")
		if at, path, ok := strings.Cut(remote, ":"); ok && !strings.Contains(remote, "://") && !strings.Contains(at, "/") && path != "" {
			remote = "ssh://" + at
		}
		urls = append(urls, remote)
	}
	return hostsOf(urls), nil
}

// hostsOf returns the canonical hosts of URLs, each once; what has none is left
// out.
func hostsOf(urls []string) []string {
	var hosts []string
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			continue
		}
		if h, err := policy.CanonicalHost(u.Hostname()); err == nil && !slices.Contains(hosts, h.String()) {
			hosts = append(hosts, h.String())
		}
	}
	return hosts
}
