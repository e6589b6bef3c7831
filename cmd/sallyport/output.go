package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// outputFormat is the value of -o: how a command prints what it found.
type outputFormat string

const (
	outputText outputFormat = "text"
	outputJSON outputFormat = "json"
)

// addOutputFlag gives cmd the flag -o and returns its value, text by default.
func addOutputFlag(cmd *cobra.Command) *outputFormat {
	format := outputText
	cmd.Flags().VarP(&format, "output", "o", "output format: text or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(
		[]cobra.Completion{string(outputText), string(outputJSON)}, cobra.ShellCompDirectiveNoFileComp))
	return &format
}

func (f *outputFormat) String() string { return string(*f) }

// Type names the value in help texts.
func (f *outputFormat) Type() string { return "FORMAT" }

// Set refuses everything but the known formats.
func (f *outputFormat) Set(s string) error {
	switch outputFormat(s) {
	case outputText, outputJSON:
		*f = outputFormat(s)
		return nil
	}
	return fmt.Errorf("want text or json")
}

// printJSON writes v as indented JSON and a newline.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
