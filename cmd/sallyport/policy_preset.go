package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/policy"
)

// preset finds the hosts that one tool talks to.
type preset struct {
	about string
	hosts func(ctx context.Context) ([]string, error)
}

// presets by name. Package managers are asked: a private mirror is as common
// as the public registry (ledger NP-50).
func presets() map[string]preset {
	return map[string]preset{
		"apt": {"package sources of apt", func(ctx context.Context) ([]string, error) {
			out, err := ask(ctx, "apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI)")
			return hostsOf(strings.Fields(out)), err
		}},
		"git": {"remotes of the repository here", gitRemotes},
		"github": {"GitHub", func(context.Context) ([]string, error) {
			return []string{"github.com", "api.github.com", "codeload.github.com", "objects.githubusercontent.com", "github-cloud.s3.amazonaws.com"}, nil
		}},
		"go": {"module proxy and checksum database of go", goHosts},
		"npm": {"registry of npm", func(ctx context.Context) ([]string, error) {
			out, err := ask(ctx, "npm", "config", "get", "registry")
			return hostsOf([]string{out}), err
		}},
		"pip": {"package index of pip", pipHosts},
	}
}

func newPolicyPresetCommand() *cobra.Command {
	all := presets()
	names := slices.Sorted(maps.Keys(all))
	long := "Print rules for common tools. The hosts are read from the tool's own\nconfiguration here and now:\n\n"
	for _, name := range names {
		long += fmt.Sprintf("  %-8s %s\n", name, all[name].about)
	}
	cmd := &cobra.Command{
		Use:       "preset NAME...",
		Short:     "Print rules for common tools",
		Long:      strings.TrimSpace(long),
		Example:   "  sallyport policy preset github npm > policy.yaml",
		Args:      cobra.MinimumNArgs(1),
		ValidArgs: names,
	}
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var rules []commentedRule
		seen := map[string]bool{}
		for _, name := range args {
			p, ok := all[name]
			if !ok {
				return usageErrorf("unknown preset %q; there are %s", name, strings.Join(names, ", "))
			}
			hosts, err := p.hosts(cmd.Context())
			if err == nil && len(hosts) == 0 {
				err = fmt.Errorf("its configuration names no host")
			}
			if err != nil {
				return fmt.Errorf("preset %s: %w", name, err)
			}
			for _, h := range hosts {
				if !seen[h] {
					rules = append(rules, commentedRule{h, p.about})
				}
				seen[h] = true
			}
		}
		if *format != outputJSON {
			return printRules(cmd.OutOrStdout(), rules)
		}
		var doc policy.Document
		for _, r := range rules {
			doc.Rules = append(doc.Rules, policy.Rule{HostGlob: r.glob, Action: policy.Allow})
		}
		return printJSON(cmd.OutOrStdout(), doc)
	}
	return cmd
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
