package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/sandboxd/apiclient"
)

// newSetupRunCommand returns the group of commands on setup runs.
func newSetupRunCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "setup-run",
		Short: "See and end the runs of setup scripts",
		Long:  "See and end the runs of setup scripts. RUN is the newest one when it is left out." + connectHelp,
		Example: `  sallyport setup-run list env_01
  sallyport setup-run log env_01 -f
  sallyport setup-run cancel env_01`,
	}
	remote := addRemoteFlags(cmd)
	cmd.AddCommand(newRunGetCommand(remote), newRunListCommand(remote), newRunLogCommand(remote), newRunCancelCommand(remote))
	return cmd
}

// runArgs are ENVIRONMENT and, unless it is the newest, RUN.
func runArgs(ctx context.Context, client *apiclient.ClientWithResponses, args []string) (environment, run string, err error) {
	if len(args) > 1 {
		return args[0], args[1], nil
	}
	var p apiclient.PageSetupRun
	res, err := client.ListEnvironmentSetupRuns(ctx, args[0], &apiclient.ListEnvironmentSetupRunsParams{Limit: ptr(int64(1))})
	if _, err := answer(res, err, &p); err != nil {
		return "", "", err
	}
	if len(p.Data) == 0 {
		return "", "", fmt.Errorf("the environment %s has no setup run", args[0])
	}
	return args[0], p.Data[0].SetupRunId, nil
}

func newRunGetCommand(remote *remoteFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "get ENVIRONMENT [RUN]", Short: "Show a setup run",
		Example: "  sallyport setup-run get env_01 -o json",
		Args:    cobra.RangeArgs(1, 2),
	}
	cmd.ValidArgsFunction = completeEnvironments(remote)
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := remote.connect()
		if err != nil {
			return err
		}
		environment, id, err := runArgs(cmd.Context(), client, args)
		if err != nil {
			return fmt.Errorf("get setup run: %w", err)
		}
		var run apiclient.SetupRun
		res, err := client.GetEnvironmentSetupRun(cmd.Context(), environment, id, &apiclient.GetEnvironmentSetupRunParams{})
		data, err := answer(res, err, &run)
		if err != nil {
			return fmt.Errorf("get setup run: %w", err)
		}
		return showRun(cmd, *format, data, run)
	}
	return cmd
}

func showRun(cmd *cobra.Command, format outputFormat, data json.RawMessage, run apiclient.SetupRun) error {
	if format == outputJSON {
		return printAnswer(cmd.OutOrStdout(), data)
	}
	showOutcome(cmd.OutOrStdout(), run)
	return nil
}

func newRunListCommand(remote *remoteFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list ENVIRONMENT", Short: "List setup runs, the newest first",
		Example: "  sallyport setup-run list env_01",
		Args:    cobra.ExactArgs(1),
	}
	cmd.ValidArgsFunction = completeEnvironments(remote)
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := remote.connect()
		if err != nil {
			return err
		}
		var shown []apiclient.SetupRun
		raw, err := pages(func(after *string) (page, error) {
			var p apiclient.PageSetupRun
			res, err := client.ListEnvironmentSetupRuns(cmd.Context(), args[0], &apiclient.ListEnvironmentSetupRunsParams{After: after})
			data, err := answer(res, err, &p)
			shown = append(shown, p.Data...)
			return page{data, p.NextAfter}, err
		})
		if err != nil {
			return fmt.Errorf("list setup runs: %w", err)
		}
		if *format == outputJSON {
			return printJSON(cmd.OutOrStdout(), raw)
		}
		table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "RUN\tKIND\tSTATUS\tPHASE\tLINE\tDURATION\tCREATED")
		for _, r := range shown {
			line := "-"
			if n := or(r.FailedLine); n > 0 {
				line = fmt.Sprint(n)
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.SetupRunId, r.Kind, r.Status, or(r.Phase), line,
				span(r.DurationMs), stamp(&r.CreatedAt))
		}
		return table.Flush()
	}
	return cmd
}

func newRunCancelCommand(remote *remoteFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "cancel ENVIRONMENT [RUN]", Short: "End a setup run without a verdict",
		Example: "  sallyport setup-run cancel env_01",
		Args:    cobra.RangeArgs(1, 2),
	}
	cmd.ValidArgsFunction = completeEnvironments(remote)
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := remote.connect()
		if err != nil {
			return err
		}
		environment, id, err := runArgs(cmd.Context(), client, args)
		if err != nil {
			return fmt.Errorf("cancel setup run: %w", err)
		}
		var run apiclient.SetupRun
		res, err := client.CancelEnvironmentSetupRun(cmd.Context(), environment, id)
		data, err := answer(res, err, &run)
		if err != nil {
			return fmt.Errorf("cancel setup run: %w", err)
		}
		return showRun(cmd, *format, data, run)
	}
	return cmd
}
