package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/suggest"
)

// policySuggestion is one rule of "policy suggest -o json".
type policySuggestion struct {
	Glob      string `json:"glob"`
	Hosts     int    `json:"hosts"`
	Crossings int64  `json:"crossings"`
}

func newPolicySuggestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "suggest AUDIT...",
		Short: "Make a policy from what was used",
		Long: `Make a policy from recorded crossings: a rule for each host that was used, or
that was only observed. Nothing is widened unless --generalise asks for it, and
never over a public suffix.`,
		Example: `  sallyport policy suggest audit.jsonl > policy.yaml
  sallyport policy suggest --refused --base policy.yaml audit.jsonl
  sallyport policy suggest --generalise 5 audit.jsonl.gz`,
		Args: cobra.MinimumNArgs(1),
	}
	format := addOutputFlag(cmd)
	o := suggest.Options{PublicSuffix: isPublicSuffix}
	cmd.Flags().BoolVar(&o.Refused, "refused", false, "also the hosts that a policy refused")
	cmd.Flags().IntVar(&o.Generalise, "generalise", 0, "write *.PARENT for this many or more names under one; 0 never does")
	base := cmd.Flags().String("base", "", "policy to add to: only what it does not allow")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.Generalise == 1 || o.Generalise < 0 {
			return usageErrorf("--generalise: want 2 or more names")
		}
		if *base != "" {
			doc, err := readPolicy(cmd, *base)
			if err != nil {
				return err
			}
			if o.Allowed, err = policy.Compile(doc); err != nil {
				return err
			}
		}
		collector := suggest.New(o)
		if err := readAudit(cmd, args, collector.Read); err != nil {
			return err
		}
		suggestions, err := collector.Suggestions()
		if err != nil {
			return fmt.Errorf("%w; try --generalise", err)
		}
		return printSuggestions(cmd.OutOrStdout(), *format, suggestions)
	}
	return cmd
}

func printSuggestions(w io.Writer, format outputFormat, suggestions []suggest.Suggestion) error {
	if format == outputJSON {
		wire := make([]policySuggestion, 0, len(suggestions))
		for _, s := range suggestions {
			wire = append(wire, policySuggestion(s))
		}
		return printJSON(w, wire)
	}
	rules := make([]commentedRule, 0, len(suggestions))
	for _, s := range suggestions {
		comment := fmt.Sprintf("%d crossings", s.Crossings)
		if s.Hosts > 1 {
			comment += fmt.Sprintf(" to %d hosts", s.Hosts)
		}
		rules = append(rules, commentedRule{s.Glob, comment})
	}
	return printRules(w, rules)
}

// commentedRule is an allow rule with a reason beside it.
type commentedRule struct{ glob, comment string }

// printRules writes a policy that allows the globs, as YAML.
func printRules(w io.Writer, rules []commentedRule) error {
	if len(rules) == 0 {
		_, err := fmt.Fprintln(w, "version: v1\nrules: []")
		return err
	}
	fmt.Fprintln(w, "version: v1\nrules:")
	for _, r := range rules {
		if _, err := fmt.Fprintf(w, "  - {match: {host_glob: %q}, action: {type: allow}} # %s\n", r.glob, r.comment); err != nil {
			return err
		}
	}
	return nil
}
