package main

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/edge/strict"
)

// upstreamFlags say how the edge reaches the world. They are the keys of the
// same meaning in its configuration.
type upstreamFlags struct {
	resolve []string
	cidrs   []string
	roots   []string
}

func (f *upstreamFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.resolve, "resolve", nil, "reach a host at an address: `HOST:PORT=ADDR:PORT`")
	flags.StringArrayVar(&f.cidrs, "upstream-cidr", nil, "let names lead to addresses in `CIDR` that would be refused otherwise")
	flags.StringArrayVar(&f.roots, "upstream-ca", nil, "trust the CAs in `FILE` (PEM) upstream besides the system's")
	_ = cmd.MarkFlagFilename("upstream-ca", "pem", "crt")
}

// document returns the flags as the edge's configuration has them, checked as
// it does.
func (f *upstreamFlags) document() (config.DocumentUpstream, error) {
	u := config.DocumentUpstream{AllowCIDRs: f.cidrs, Resolve: map[string]string{}}
	for _, text := range f.resolve {
		name, addr, found := strings.Cut(text, "=")
		if _, twice := u.Resolve[name]; !found || twice {
			return u, usageErrorf("--resolve %s: expected HOST:PORT=ADDR:PORT, each host and port once", text)
		}
		u.Resolve[name] = addr
	}
	for _, file := range f.roots {
		abs, err := filepath.Abs(file)
		if err != nil {
			return u, err
		}
		u.ExtraRoots = append(u.ExtraRoots, abs)
	}
	trial := config.Document{State: "/", Listen: config.DocumentListen{Control: "/control"}, Upstream: u}
	if _, err := trial.Check("/"); err != nil {
		return u, usageErrorf("%w", byFlag(err))
	}
	return u, nil
}

// byFlag puts the flag in place of the configuration's key that an error names.
func byFlag(err error) error {
	var e *strict.Error
	if !errors.As(err, &e) {
		return err
	}
	for key, flag := range map[string]string{
		"upstream.resolve":     "--resolve",
		"upstream.allow_cidrs": "--upstream-cidr",
		"upstream.extra_roots": "--upstream-ca",
	} {
		if strings.HasPrefix(e.Path, key) {
			return &strict.Error{Path: flag, Msg: e.Msg}
		}
	}
	return err
}
