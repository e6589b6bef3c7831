package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/inject/store"
)

// newSecretCommand returns the group of commands on the secret store. They
// work on its files, whether or not an edge that reads them is running.
func newSecretCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret",
		Short: "Keep secrets in the local store",
		Long: `Keep secrets in the local store.

A secret NAME is bound to a host as "store:NAME". It is encrypted below the
state directory, under a key file that only its owner can read. An edge that is
running uses a new version within 30 seconds. No command shows a value.`,
		Example: `  sallyport secret set api-token < token.txt
  sallyport secret list
  sallyport secret delete api-token`,
	}
	state := addStateFlag(cmd)
	cmd.AddCommand(newSecretSetCommand(state), newSecretListCommand(state), newSecretDeleteCommand(state))
	return cmd
}

// openStore returns the store that the flags of a command name.
func openStore(state *stateFlag) (*store.Store, error) {
	dir, err := state.dir()
	if err != nil {
		return nil, err
	}
	return store.New(dir), nil
}

// secretInfo is how the commands print a secret with -o json.
type secretInfo struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Created time.Time `json:"created_at"`
}

func newSecretInfo(info store.Info) secretInfo {
	return secretInfo{Name: info.Name, Version: info.Version, Created: info.Created.UTC().Truncate(time.Second)}
}

func newSecretListCommand(state *stateFlag) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List names and versions, never values",
		Example: `  sallyport secret list -o json`,
		Args:    cobra.NoArgs,
	}
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		secrets, err := openStore(state)
		if err != nil {
			return err
		}
		found, err := secrets.List(cmd.Context())
		if err != nil {
			return err
		}
		list := make([]secretInfo, 0, len(found))
		for _, info := range found {
			list = append(list, newSecretInfo(info))
		}
		if *format == outputJSON {
			return printJSON(cmd.OutOrStdout(), list)
		}
		table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "NAME\tVERSION\tCREATED")
		for _, s := range list {
			fmt.Fprintf(table, "%s\t%s\t%s\n", s.Name, s.Version, s.Created.Format(time.RFC3339))
		}
		return table.Flush()
	}
	return cmd
}

func newSecretDeleteCommand(state *stateFlag) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a secret",
		Long: `Delete a secret, every version of it. Requests that need it are then refused,
by an edge that is running within 30 seconds.`,
		Example: `  sallyport secret delete api-token`,
		Args:    cobra.ExactArgs(1),
	}
	cmd.ValidArgsFunction = completeSecrets(state)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		secrets, err := openStore(state)
		if err != nil {
			return err
		}
		return secrets.Delete(cmd.Context(), args[0])
	}
	return cmd
}

// completeSecrets completes the first argument with the names in the store.
func completeSecrets(state *stateFlag) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		secrets, err := openStore(state)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found, err := secrets.List(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		names := make([]cobra.Completion, 0, len(found))
		for _, info := range found {
			names = append(names, info.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
