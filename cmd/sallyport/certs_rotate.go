package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/certs"
)

// rotated says what a step has changed and what comes next.
var rotated = map[certs.Step]string{
	certs.StepBegin:  "The next CA is made. Restart the edge: sandboxes that start from then on trust both. Go on with --step switch once older ones have ended.",
	certs.StepSwitch: "The next CA is in force. Restart the edge: it signs with it, and sandboxes trust both. Go on with --step retire once those from before the first step have ended.",
	certs.StepRetire: "The old CA is gone. Restart the edge: sandboxes that start from then on trust the new one only.",
}

func newCertsRotateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate --step begin|switch|retire [--state DIR]",
		Short: "Replace the CA in three steps, with overlap",
		Long: `Replace the CA in the edge's state directory in three steps, with overlap. After
each step the edge has to be restarted. Sandboxes trust what was trusted when
they started, so wait between the steps until the older ones have ended:

  begin    a next CA is made; both are trusted, the old one signs
  switch   both are trusted, the next one signs
  retire   the old CA is removed, its key included`,
		Example: `  sallyport certs rotate --step begin --state /var/lib/sallyport`,
		Args:    cobra.NoArgs,
	}
	state := addStateFlag(cmd)
	step := cmd.Flags().String("step", "", "`STEP` to take: begin, switch or retire")
	_ = cmd.MarkFlagRequired("step")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		text, known := rotated[certs.Step(*step)]
		if !known {
			return usageErrorf("--step %s: expected begin, switch or retire", *step)
		}
		dir, err := state.dir()
		if err != nil {
			return err
		}
		if err := certs.Rotate(dir, certs.Step(*step)); err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
		return err
	}
	return cmd
}
