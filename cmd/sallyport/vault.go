package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/edge/control"
	"github.com/sallyport/sallyport/inject/keyring"
)

// defaultOrg is the organisation of those who have only one.
const defaultOrg = "default"

// newVaultCommand returns the group of commands on vaults, which a running edge
// keeps. Values go to it over its control socket.
func newVaultCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "vault",
		Short: "Keep credentials in vaults that sessions are granted",
		Long: `Keep credentials in vaults that sessions are granted.

A vault is a named collection of an organisation or of one of its projects. Each
credential in it has a value and the hosts that it is good for. A session that is
granted the vault gets a placeholder for each, in the variable of its name; no
command shows a value, and no other session gets the placeholders.`,
		Example: `  id=$(sallyport vault create deploy --project web)
  sallyport vault set $id DEPLOY_TOKEN --host api.example.com < token.txt
  sallyport vault show $id`,
	}
	edge := addControlFlag(cmd)
	cmd.AddCommand(
		newVaultCreateCommand(edge), newVaultListCommand(edge), newVaultDeleteCommand(edge),
		newVaultSetCommand(edge), newVaultShowCommand(edge), newVaultUnsetCommand(edge),
	)
	return cmd
}

// scopeFlags say whose a vault is.
type scopeFlags struct{ org, project string }

func addScopeFlags(cmd *cobra.Command) *scopeFlags {
	f := &scopeFlags{}
	cmd.Flags().StringVar(&f.org, "org", defaultOrg, "`ORGANISATION` that the vault is of")
	cmd.Flags().StringVar(&f.project, "project", "", "`PROJECT` of it; default: none, the vault is for all of them")
	return f
}

func newVaultCreateCommand(edge *controlFlag) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "create NAME",
		Short:   "Make an empty vault and print its id",
		Example: `  sallyport vault create deploy --project web`,
		Args:    cobra.ExactArgs(1),
	}
	scope, format := addScopeFlags(cmd), addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := edge.client()
		if err != nil {
			return err
		}
		v, err := client.CreateVault(cmd.Context(), scope.org, scope.project, args[0])
		if err != nil {
			return err
		}
		if *format == outputJSON {
			return printJSON(cmd.OutOrStdout(), v)
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), v.ID)
		return err
	}
	return cmd
}

func newVaultListCommand(edge *controlFlag) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List vaults",
		Example: `  sallyport vault list -o json`,
		Args:    cobra.NoArgs,
	}
	scope, format := addScopeFlags(cmd), addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, err := edge.client()
		if err != nil {
			return err
		}
		list, err := client.ListVaults(cmd.Context(), scope.org, scope.project)
		if err != nil {
			return err
		}
		if *format == outputJSON {
			return printJSON(cmd.OutOrStdout(), control.VaultList{Vaults: list})
		}
		table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tNAME\tPROJECT\tCREATED")
		for _, v := range list {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", v.ID, v.Name, v.Project, v.Created.Format(time.RFC3339))
		}
		return table.Flush()
	}
	return cmd
}

func newVaultDeleteCommand(edge *controlFlag) *cobra.Command {
	return &cobra.Command{
		Use:     "delete ID",
		Short:   "Delete a vault with all that is in it",
		Example: `  sallyport vault delete vlt_4f2a`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := edge.client()
			if err != nil {
				return err
			}
			return client.DeleteVault(cmd.Context(), args[0])
		},
	}
}

func newVaultShowCommand(edge *controlFlag) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "List the credentials in a vault, never their values",
		Example: `  sallyport vault show vlt_4f2a`,
		Args:    cobra.ExactArgs(1),
	}
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := edge.client()
		if err != nil {
			return err
		}
		list, err := client.ListCredentials(cmd.Context(), keyring.Collection{Vault: args[0]})
		if err != nil {
			return err
		}
		if *format == outputJSON {
			return printJSON(cmd.OutOrStdout(), control.CredentialList{Credentials: list})
		}
		table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "NAME\tVERSION\tHOST\tUPDATED")
		for _, c := range list {
			for _, b := range c.Bindings {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.Name, c.Version, b.Host, c.Updated.Format(time.RFC3339))
			}
		}
		return table.Flush()
	}
	return cmd
}
