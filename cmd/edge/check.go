package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/edge/config"
)

func newCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check --config FILE",
		Short: "Validate a configuration",
		Long: `Validate a configuration: every key and value, the files that it names, and
each static boundary with its policy and bindings. Exit code 1 says that it is
invalid; the error names the file, the place and what was expected.`,
		Example: "  edge check --config edge.yaml",
		Args:    cobra.NoArgs,
	}
	path := addConfigFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := config.Load(*path)
		if err != nil {
			return err
		}
		if _, err := newIssuers(c, nil, nil); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: valid, static boundaries: %d\n", *path, len(c.Boundaries))
		return err
	}
	return cmd
}
