package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/sandboxd/apiclient"
)

// newEnvCommand returns the group of commands on environments.
func newEnvCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "env",
		Short:   "Create, verify and change environments",
		Long:    "Create, verify and change environments." + connectHelp,
		Aliases: []string{"environment"},
		Example: `  sallyport env create -f environment.yaml
  sallyport env verify env_01
  sallyport env list`,
	}
	remote := addRemoteFlags(cmd)
	cmd.AddCommand(
		newEnvCreateCommand(remote),
		newEnvGetCommand(remote),
		newEnvListCommand(remote),
		newEnvUpdateCommand(remote),
		newEnvDeleteCommand(remote),
		newEnvVerifyCommand(remote),
	)
	return cmd
}

func newEnvCreateCommand(remote *remoteFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create (-f FILE | --name NAME) [flags]",
		Short: "Create an environment",
		Long: `Create an environment. No compute starts, unless --verify starts a setup run.

FILE has the settings as the API takes them, or a key "environment" with name,
image: {kind: preset, name}, resources: {cpuCount, memoryMB}, steps and a list
"setup" of what every boot runs. Flags win over the file.`,
		Example: `  sallyport env create --name web --script setup.sh --policy policy.yaml
  sallyport env create -f environment.yaml --verify`,
		Args: cobra.NoArgs,
	}
	flags := addSettingFlags(cmd)
	verify := cmd.Flags().Bool("verify", false, "run the setup script, and wait for the verdict")
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		body, err := flags.read()
		if err != nil {
			return err
		}
		if body["name"] == nil {
			return usageErrorf("an environment needs a name: --name, or in the file")
		}
		if body["provider"] == nil {
			if err := body.set("provider", defaultProvider); err != nil {
				return err
			}
		}
		client, err := remote.connect()
		if err != nil {
			return err
		}
		reader, err := body.reader()
		if err != nil {
			return err
		}
		var made apiclient.Environment
		res, err := client.CreateEnvironmentWithBody(cmd.Context(), &apiclient.CreateEnvironmentParams{}, jsonType, reader)
		data, err := answer(res, err, &made)
		if err != nil {
			return fmt.Errorf("create environment: %w", err)
		}
		if *verify {
			return verifyEnvironment(cmd, client, made.EnvironmentId, *format)
		}
		return showEnvironment(cmd, *format, data, made)
	}
	return cmd
}

func newEnvGetCommand(remote *remoteFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get ENVIRONMENT",
		Short:   "Show an environment and its verdict",
		Example: "  sallyport env get env_01 -o json",
		Args:    cobra.ExactArgs(1),
	}
	cmd.ValidArgsFunction = completeEnvironments(remote)
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := remote.connect()
		if err != nil {
			return err
		}
		var e apiclient.Environment
		res, err := client.GetEnvironment(cmd.Context(), args[0])
		data, err := answer(res, err, &e)
		if err != nil {
			return fmt.Errorf("get environment: %w", err)
		}
		return showEnvironment(cmd, *format, data, e)
	}
	return cmd
}

func newEnvListCommand(remote *remoteFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List environments, the newest first",
		Example: "  sallyport env list --name-prefix web",
		Args:    cobra.NoArgs,
	}
	prefix := cmd.Flags().String("name-prefix", "", "only those whose name begins with `TEXT`")
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, err := remote.connect()
		if err != nil {
			return err
		}
		var shown []apiclient.Environment
		raw, err := pages(func(after *string) (page, error) {
			var p apiclient.PageEnvironment
			q := apiclient.ListEnvironmentsParams{After: after, Limit: ptr(int64(100))}
			if *prefix != "" {
				q.NamePrefix = prefix
			}
			res, err := client.ListEnvironments(cmd.Context(), &q)
			data, err := answer(res, err, &p)
			shown = append(shown, p.Data...)
			return page{data, p.NextAfter}, err
		})
		if err != nil {
			return fmt.Errorf("list environments: %w", err)
		}
		if *format == outputJSON {
			return printJSON(cmd.OutOrStdout(), raw)
		}
		table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "ENVIRONMENT\tNAME\tSETUP\tINTERNET\tUPDATED")
		for _, e := range shown {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", e.EnvironmentId, printable(e.Name), e.SetupVerification.Label,
				internetAccess(e), stamp(&e.UpdatedAt))
		}
		return table.Flush()
	}
	return cmd
}

func newEnvDeleteCommand(remote *remoteFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete ENVIRONMENT",
		Short: "Delete an environment",
		Long: `Delete an environment, for good. A manual setup run in flight is cancelled;
running sessions keep their sandbox.`,
		Example: "  sallyport env delete env_01",
		Args:    cobra.ExactArgs(1),
	}
	cmd.ValidArgsFunction = completeEnvironments(remote)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := remote.connect()
		if err != nil {
			return err
		}
		res, err := client.DeleteEnvironment(cmd.Context(), args[0], &apiclient.DeleteEnvironmentParams{})
		if _, err := answer(res, err, nil); err != nil {
			return fmt.Errorf("delete environment: %w", err)
		}
		return nil
	}
	return cmd
}

// completeEnvironments completes the first argument with ids.
func completeEnvironments(remote *remoteFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		client, err := remote.connect()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var p apiclient.PageEnvironment
		res, err := client.ListEnvironments(cmd.Context(), &apiclient.ListEnvironmentsParams{Limit: ptr(int64(100))})
		if _, err := answer(res, err, &p); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var ids []cobra.Completion
		for _, e := range p.Data {
			ids = append(ids, cobra.CompletionWithDesc(e.EnvironmentId, printable(e.Name)))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
