package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/policy/diff"
)

// policyEqual is what "policy equal -o json" prints.
type policyEqual struct {
	Equal   bool   `json:"equal"`
	Witness string `json:"witness,omitempty"` // a host on which the two differ
}

func newPolicyEqualCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "equal A B",
		Short: "Prove that two policies decide alike",
		Long: `Prove that two policies decide alike on every host there is, whatever their
rules look like. Exit code 3 says that they do not, and a host shows it; exit
code 1 that it could not be proved.`,
		Example: `  sallyport policy equal policy.yaml shorter.yaml`,
		Args:    cobra.ExactArgs(2),
	}
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := readPolicy(cmd, args[0])
		if err != nil {
			return err
		}
		b, err := readPolicy(cmd, args[1])
		if err != nil {
			return err
		}
		h, found, err := diff.Difference(a, b)
		if err != nil {
			return fmt.Errorf("compare policies: %w", err)
		}
		out := cmd.OutOrStdout()
		switch {
		case *format == outputJSON:
			err = printJSON(out, policyEqual{Equal: !found, Witness: h.String()})
		case found:
			_, err = fmt.Fprintf(out, "they differ, on %s\n", h)
		default:
			_, err = fmt.Fprintln(out, "they decide alike on every host")
		}
		if err == nil && found {
			err = exitError{code: exitNo}
		}
		return err
	}
	return cmd
}
