package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// failedError is an error of a command that ran. Every other error comes from
// cobra before it did, so it is one of usage.
type failedError struct{ error }

func (e failedError) Unwrap() error { return e.error }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "edge",
		Short:         "The egress proxy that stands on the boundary of sandboxes",
		Example:       "  edge serve --config edge.yaml",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is required")
		},
	}
	root.AddCommand(newServeCommand(), newCheckCommand(), newTrustCommand())
	for _, cmd := range root.Commands() {
		work := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := work(cmd, args); err != nil {
				return failedError{err}
			}
			return nil
		}
	}
	return root
}

// addConfigFlag gives cmd the required flag --config.
func addConfigFlag(cmd *cobra.Command) *string {
	path := cmd.Flags().String("config", "", "configuration `FILE`, YAML or JSON")
	_ = cmd.MarkFlagRequired("config")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml", "json")
	return path
}
