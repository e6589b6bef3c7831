package main

import (
	"github.com/spf13/cobra"
)

// newPolicyCommand returns the group of commands that answer from a policy
// file alone. They decide with the matcher that the edge enforces.
func newPolicyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Check, compare and try out network policies",
		Long: `Check, compare and try out network policies.

A policy is a list of rules in YAML or JSON. The first rule whose glob matches
a host decides; a host that no rule matches is denied:

  version: v1
  rules:
    - {match: {host_glob: "*.internal.example.com"}, action: {type: deny}}
    - {match: {host_glob: "*.example.com"}, action: {type: allow}}

  api.example.com      that host
  *.example.com        every name under example.com, but not example.com itself
  api-*.example.com    a wildcard elsewhere stays within one label; so do ? and [abc]
  {a,b}.example.com    the same as one rule for each alternative
  10.0.0.5, ::1        that address
  *                    every host

The empty policy {} allows every host. A FILE of - is standard input.`,
		Example: `  sallyport policy check policy.yaml
  sallyport policy test policy.yaml api.example.com registry.example.com
  sallyport policy explain policy.yaml api.example.com
  sallyport policy diff --fail-on widening old.yaml new.yaml`,
	}
	cmd.AddCommand(
		newPolicyCheckCommand(),
		newPolicyTestCommand(),
		newPolicyExplainCommand(),
		newPolicyDiffCommand(),
		newPolicyEqualCommand(),
		newPolicyReplayCommand(),
		newPolicySuggestCommand(),
		newPolicyPresetCommand(),
		newPolicyFmtCommand(),
		newPolicySchemaCommand(),
	)
	return cmd
}
