package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/keyring"
	"github.com/sallyport/sallyport/policy"
)

func newVaultSetCommand(edge *controlFlag) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set ID NAME",
		Short: "Put a credential, or a new version of it, into a vault",
		Long: `Put a credential, or a new version of it, into a vault.

The value is read from standard input, without echo if that is a terminal, or
from --file; never from the command line. A running edge uses a new version
within 30 seconds. Without --host a credential that is there keeps its hosts.`,
		Example: `  sallyport vault set vlt_4f2a DEPLOY_TOKEN --host api.example.com < token.txt
  sallyport vault set vlt_4f2a DEPLOY_TOKEN --file new-token.txt`,
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 2 {
			return nameAlone(cmd, args)
		}
		return cobra.ExactArgs(2)(cmd, args)
	}
	file := cmd.Flags().String("file", "-", "read the value from `FILE`; - is standard input")
	hosts := cmd.Flags().StringArray("host", nil, "`HOST[:PORT][/HEADER]` that the credential is good for; HEADER defaults to Authorization")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var bindings []inject.Template
		for _, text := range *hosts {
			b, err := parseTemplate(text)
			if err != nil {
				return usageErrorf("--host %s: %w", text, err)
			}
			bindings = append(bindings, b)
		}
		client, err := edge.client()
		if err != nil {
			return err
		}
		value, err := readSecretValue(cmd, args[1], *file)
		if err != nil {
			return err
		}
		c, err := client.PutCredential(cmd.Context(), keyring.Collection{Vault: args[0]}, args[1], value, bindings)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: version %s\n", c.Name, c.Version)
		return err
	}
	return cmd
}

// parseTemplate reads HOST[:PORT][/HEADER].
func parseTemplate(text string) (inject.Template, error) {
	authority, header, _ := strings.Cut(text, "/")
	host, port, err := policy.CanonicalAuthority(authority, 443)
	if err != nil {
		return inject.Template{}, err
	}
	return inject.Template{Host: host.String(), Port: port, Header: header}, nil
}

func newVaultUnsetCommand(edge *controlFlag) *cobra.Command {
	return &cobra.Command{
		Use:     "unset ID NAME",
		Short:   "Delete a credential from a vault",
		Example: `  sallyport vault unset vlt_4f2a DEPLOY_TOKEN`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := edge.client()
			if err != nil {
				return err
			}
			return client.DeleteCredential(cmd.Context(), keyring.Collection{Vault: args[0]}, args[1])
		},
	}
}
