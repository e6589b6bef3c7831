package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// choice is a flag that takes one of a few words; the first is the default.
type choice struct {
	value string
	words []string
}

// addFormatFlag gives cmd the flag -o with formats of its own beside text and
// json.
func addFormatFlag(cmd *cobra.Command, more ...string) *choice {
	c := &choice{value: string(outputText), words: append([]string{string(outputText), string(outputJSON)}, more...)}
	cmd.Flags().VarP(c, "output", "o", "output format: "+strings.Join(c.words, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(c.words, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (c *choice) String() string { return c.value }

// Type names the value in help texts.
func (c *choice) Type() string { return "FORMAT" }

// Set refuses everything but the known words.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("want one of %s", strings.Join(c.words, ", "))
	}
	c.value = s
	return nil
}
