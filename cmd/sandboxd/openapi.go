package main

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/sandboxd/api"
)

func newOpenAPICommand() *cobra.Command {
	return &cobra.Command{
		Use:     "openapi",
		Short:   "Print the OpenAPI document of the control API",
		Example: "  sandboxd openapi > openapi.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			document, err := json.MarshalIndent(api.New(nil, slog.New(slog.DiscardHandler)).OpenAPI(), "", "  ")
			if err != nil {
				return failedError{fmt.Errorf("encode the document: %w", err)}
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", document)
			return err
		},
	}
}
