package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newRoot assembles the command tree. A subcommand is one constructor in a
// file of its own and one line here.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "sallyport",
		Short: "The one guarded way out of a sandbox",
		Example: `  sallyport policy test policy.yaml api.example.com
  sallyport policy explain policy.yaml api.example.com`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(
		newPolicyCommand(),
		newBoundaryCommand(),
		newCertsCommand(),
		newDoctorCommand(),
		newEnvCommand(),
		newProbeCommand(),
		newProviderCommand(),
		newRunCommand(),
		newSecretCommand(),
		newVaultCommand(),
		newSetupRunCommand(),
		newTemplateCommand(),
		newUpCommand(),
	)
	root.SetHelpCommand(newHelpCommand())
	prepare(root)
	return root
}

// prepare gives a command tree the behaviour that all of it shares: a group
// refuses an unknown subcommand by name, and an error that a command returns
// means "failed" unless it carries another exit code. Every other error comes
// from cobra before the command ran, so it is one of usage.
func prepare(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		prepare(sub)
	}
	if !cmd.Runnable() {
		cmd.Args = refuseUnknown
		cmd.RunE = func(cmd *cobra.Command, _ []string) error {
			return usageErrorf("%s: a command is required", cmd.CommandPath())
		}
		return
	}
	work := cmd.RunE
	if work == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := work(cmd, args)
		if exit := (exitError{}); err == nil || errors.As(err, &exit) {
			return err
		}
		return exitError{code: exitFailed, err: err}
	}
}

// refuseUnknown is the argument check of a group. Cobra's own applies to the
// root alone and lets a group answer an unknown subcommand with its help.
func refuseUnknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2 // typing mistakes; cobra sets it for its own checks only
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), hint)
}
