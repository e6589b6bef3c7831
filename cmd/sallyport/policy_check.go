package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/policy"
)

// policyCheck is what "policy check -o json" prints about a valid policy.
type policyCheck struct {
	File   string          `json:"file"`
	Valid  bool            `json:"valid"`
	Access string          `json:"access"`
	Policy policy.Document `json:"policy"`
}

func newPolicyCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Validate a policy",
		Long:  "Validate a policy. Exit code 1 says that it is invalid; the error names the place.",
		Example: `  sallyport policy check policy.yaml
  sallyport policy check -o json - < policy.json`,
		Args: cobra.ExactArgs(1),
	}
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		doc, err := readPolicy(cmd, args[0])
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		if *format == outputJSON {
			return printJSON(out, policyCheck{File: args[0], Valid: true, Access: access(doc), Policy: doc})
		}
		_, err = fmt.Fprintf(out, "%s: valid, %s\n", policyName(args[0]), describe(doc))
		return err
	}
	return cmd
}

// access names the three kinds of policy in one word.
func access(doc policy.Document) string {
	switch {
	case doc.Unrestricted:
		return "unrestricted"
	case len(doc.Rules) == 0:
		return "none"
	}
	return "rules"
}

func describe(doc policy.Document) string {
	switch access(doc) {
	case "unrestricted":
		return "every host is allowed"
	case "none":
		return "every host is denied"
	}
	if len(doc.Rules) == 1 {
		return "1 rule"
	}
	return fmt.Sprintf("%d rules", len(doc.Rules))
}
