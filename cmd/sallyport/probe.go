package main

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// newProbeCommand is the probe of Go's own TLS, for doctor. It is no part of
// the command line's contract.
func newProbeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "probe URL", Short: "Print what a URL answers", Hidden: true, Args: cobra.ExactArgs(1),
		Example: "  sallyport probe https://api.example.com/",
		RunE: func(cmd *cobra.Command, args []string) error {
			client := &http.Client{Timeout: 30 * time.Second}
			res, err := client.Get(args[0])
			if err != nil {
				return fmt.Errorf("probe: %w", err)
			}
			defer res.Body.Close()
			if _, err := io.Copy(cmd.OutOrStdout(), io.LimitReader(res.Body, 1<<20)); err != nil {
				return fmt.Errorf("probe: %w", err)
			}
			return nil
		},
	}
}
