package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/edge/config"
)

// trustDir is where below the state directory "trust --env" puts the files
// that the variables name.
const trustDir = "trust"

func newTrustCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust --config FILE [--ca | --bundle | --env]",
		Short: "Print what a client needs to trust the edge",
		Long: `Print what a client needs to trust the edge: its CA certificate (--ca, the
default), a bundle of that and the system's roots (--bundle), or the variables
that point clients at the proxy and at files with these (--env), ready for eval.

With --env, the proxy's URL carries the credentials of --boundary, which can be
left out if the configuration has just one boundary with a token.`,
		Example: `  edge trust --config edge.yaml > ca.pem
  eval "$(edge trust --env --config edge.yaml)"`,
		Args: cobra.NoArgs,
	}
	path := addConfigFlag(cmd)
	flags := cmd.Flags()
	flags.Bool("ca", false, "print the CA certificate (PEM)")
	bundle := flags.Bool("bundle", false, "print the CA certificate and the system's roots (PEM)")
	env := flags.Bool("env", false, "print variables for a shell's eval")
	id := flags.String("boundary", "", "`ID` of the boundary whose credentials --env prints")
	cmd.MarkFlagsMutuallyExclusive("ca", "bundle", "env")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := config.Load(*path)
		if err != nil {
			return err
		}
		authority, err := certs.Open(c.State)
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		switch {
		case *env:
			return printEnv(out, c, authority, *id)
		case *bundle:
			return printBundle(out, authority)
		default:
			_, err := out.Write(authority.CertificatePEM())
			return err
		}
	}
	return cmd
}

func printBundle(out io.Writer, authority *certs.Authority) error {
	roots, err := certs.SystemRoots()
	if err != nil {
		return err
	}
	trust, err := certs.NewTrust("/", authority.CertificatePEM(), roots)
	if err != nil {
		return err
	}
	bundle := trust.Env(nil)["SSL_CERT_FILE"]
	_, err = out.Write(trust.Files()[bundle])
	return err
}

func printEnv(out io.Writer, c *config.Config, authority *certs.Authority, id string) error {
	proxy, err := proxyURL(c, id)
	if err != nil {
		return err
	}
	roots, err := certs.SystemRoots()
	if err != nil {
		return err
	}
	trust, err := certs.NewTrust(filepath.Join(c.State, trustDir), authority.CertificatePEM(), roots)
	if err != nil {
		return err
	}
	if err := trust.Write(); err != nil {
		return err
	}
	env := trust.Env(proxy)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if _, err := fmt.Fprintf(out, "export %s=%s\n", name, quote(env[name])); err != nil {
			return err
		}
	}
	return nil
}

// proxyURL returns the URL of the proxy with the credentials of a boundary.
func proxyURL(c *config.Config, id string) (*url.URL, error) {
	if c.Listen.Proxy == "" {
		return nil, errors.New("the configuration has no listen.proxy for clients to use")
	}
	static, err := chooseBoundary(c, id)
	if err != nil {
		return nil, err
	}
	token, err := config.ReadToken(static.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("read token of boundary %s: %w", static.ID, err)
	}
	return &url.URL{Scheme: "http", Host: c.Listen.Proxy, User: url.UserPassword(static.ID, string(token))}, nil
}

// chooseBoundary returns the boundary named id, or the only one with a token.
func chooseBoundary(c *config.Config, id string) (config.Static, error) {
	var found []config.Static
	for _, b := range c.Boundaries {
		if b.TokenFile != "" && (id == "" || b.ID == id) {
			found = append(found, b)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case id != "":
		return config.Static{}, fmt.Errorf("no boundary %q with a token_file in the configuration", id)
	case len(found) == 0:
		return config.Static{}, errors.New("no boundary with a token_file in the configuration")
	default:
		return config.Static{}, errors.New("several boundaries have a token_file: choose one with --boundary")
	}
}

// quote returns s as one word of a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
