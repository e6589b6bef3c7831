package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/toolhosts"
)

func newPolicyPresetCommand() *cobra.Command {
	tools := toolhosts.Tools()
	names := make([]string, len(tools))
	long := "Print rules for common tools. The hosts are read from the tool's own\nconfiguration here and now:\n\n"
	for i, t := range tools {
		names[i] = t.Name
		long += fmt.Sprintf("  %-8s %s\n", t.Name, t.About)
	}
	cmd := &cobra.Command{
		Use:       "preset NAME...",
		Short:     "Print rules for common tools",
		Long:      strings.TrimSpace(long),
		Example:   "  sallyport policy preset github npm > policy.yaml",
		Args:      cobra.MinimumNArgs(1),
		ValidArgs: names,
	}
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var rules []commentedRule
		seen := map[string]bool{}
		for _, name := range args {
			i := slices.Index(names, name)
			if i < 0 {
				return usageErrorf("unknown preset %q; there are %s", name, strings.Join(names, ", "))
			}
			hosts, err := tools[i].Hosts(cmd.Context())
			if err != nil {
				return fmt.Errorf("preset %s: %w", name, err)
			}
			for _, h := range hosts {
				if !seen[h] {
					rules = append(rules, commentedRule{h, tools[i].About})
				}
				seen[h] = true
			}
		}
		if *format != outputJSON {
			return printRules(cmd.OutOrStdout(), rules)
		}
		var doc policy.Document
		for _, r := range rules {
			doc.Rules = append(doc.Rules, policy.Rule{HostGlob: r.glob, Action: policy.Allow})
		}
		return printJSON(cmd.OutOrStdout(), doc)
	}
	return cmd
}
