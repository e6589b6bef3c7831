package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// defaultState is where a daemon that is told nothing else keeps its sandboxes.
const defaultState = "/var/lib/sallyport/sandboxes"

// failedError is an error of a command that ran. Every other error comes from
// cobra before it did, so it is one of usage.
type failedError struct{ error }

func (e failedError) Unwrap() error { return e.error }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "sandboxd",
		Short:         "Runs sandboxes on this machine",
		Example:       "  sandboxd serve --config sandboxd.yaml",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(*cobra.Command, []string) error { return errors.New("a command is required") },
	}
	root.AddCommand(
		newServeCommand(), newStateCommand(), newConfigCommand(), newOpenAPICommand(),
		onProvider("check", "Say whether this machine can run sandboxes",
			`Starts a sandbox and ends it. What this machine lacks is an error that says
what to do about it; limits that it can't enforce are printed.`, check),
		onProvider("reap", "Remove what sandboxes of dead daemons left behind",
			`Removes directories, mounts, control groups and processes of sandboxes whose
owner has died. Those of a living owner are left alone.`, reap),
	)
	return root
}

// onProvider returns a command that works on the provider of one state
// directory.
func onProvider(name, short, long string, work func(context.Context, *cobra.Command, *runs.Provider) error) *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long,
		Example: "  sandboxd " + name + " --state " + defaultState,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			provider, err := open(state)
			if err != nil {
				return failedError{err}
			}
			if err := work(cmd.Context(), cmd, provider); err != nil {
				return failedError{fmt.Errorf("%s: %w", name, err)}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&state, "state", defaultState, "state `DIR` of the sandboxes")
	_ = cmd.MarkFlagDirname("state")
	return cmd
}

func open(state string) (*runs.Provider, error) {
	dir, err := filepath.Abs(state)
	if err != nil {
		return nil, fmt.Errorf("find state directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make state directory: %w", err)
	}
	return runs.New(runs.Config{StateDir: dir})
}

func check(ctx context.Context, cmd *cobra.Command, p *runs.Provider) error {
	if err := p.Check(ctx); err != nil {
		return err
	}
	for _, missing := range p.Degraded() {
		cmd.Printf("not enforced: %s\n", missing)
	}
	cmd.Println("this machine can run sandboxes")
	return nil
}

func reap(ctx context.Context, _ *cobra.Command, p *runs.Provider) error { return p.Reap(ctx) }
