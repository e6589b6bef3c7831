package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/lint"
)

// policyCheck is what "policy check -o json" prints about a valid policy.
type policyCheck struct {
	File     string          `json:"file"`
	Valid    bool            `json:"valid"`
	Access   string          `json:"access"`
	Policy   policy.Document `json:"policy"`
	Findings []policyFinding `json:"findings"`
}

// policyFinding is one finding of lint.
type policyFinding struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Rule     int    `json:"rule"` // -1: about no rule
	Line     int    `json:"line,omitempty"`
	Glob     string `json:"glob,omitempty"`
	Related  []int  `json:"related,omitempty"`
	Witness  string `json:"witness,omitempty"`
	Message  string `json:"message"`
}

func newPolicyCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Validate a policy and look for mistakes",
		Long: `Validate a policy and look for what is probably not meant: rules that decide no
host, with the rules that hide them, duplicates, names left out, wildcards over
public suffixes. Each finding is proved for all hosts and names one.

Exit code 1 says that the policy is invalid; the error names the place. With
--strict it also says that there is a warning or an error.`,
		Example: `  sallyport policy check policy.yaml
  sallyport policy check --strict --bindings edge.yaml policy.yaml
  sallyport policy check -o sarif policy.yaml > policy.sarif`,
		Args: cobra.ExactArgs(1),
	}
	format := addFormatFlag(cmd, "sarif")
	strict := cmd.Flags().Bool("strict", false, "fail on warnings and errors of lint")
	bindings := cmd.Flags().String("bindings", "", "file of bindings, or configuration of an edge, to look at as well")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		source, err := readPolicySource(cmd, args[0])
		if err != nil {
			return err
		}
		options := lint.Options{PublicSuffix: isPublicSuffix}
		if *bindings != "" {
			held, err := readHoldings(*bindings)
			if err != nil {
				return err
			}
			for _, b := range held.Bindings {
				options.Bindings = append(options.Bindings, lint.Binding{Name: b.Name, Host: b.Host})
			}
		}
		found, err := lint.Check(source.doc, options)
		if err != nil {
			return fmt.Errorf("%s: %w", policyName(args[0]), err)
		}
		if err := printCheck(cmd.OutOrStdout(), format.value, source, found); err != nil {
			return err
		}
		if *strict && worst(found) >= lint.Warning {
			return exitError{code: exitFailed}
		}
		return nil
	}
	return cmd
}

func worst(found []lint.Finding) lint.Severity {
	severity := lint.Note
	for _, f := range found {
		severity = max(severity, f.Severity)
	}
	return severity
}

func printCheck(w io.Writer, format string, source policySource, found []lint.Finding) error {
	lines := ruleLines(source.data)
	findings := make([]policyFinding, 0, len(found))
	for _, f := range found {
		p := policyFinding{
			Code: string(f.Code), Severity: f.Severity.String(), Rule: f.Rule, Glob: f.Glob,
			Related: f.Related, Witness: f.Witness.String(), Message: f.Message,
		}
		if f.Rule >= 0 && f.Rule < len(lines) {
			p.Line = lines[f.Rule]
		}
		findings = append(findings, p)
	}
	switch format {
	case string(outputJSON):
		return printJSON(w, policyCheck{File: source.file, Valid: true, Access: access(source.doc), Policy: source.doc, Findings: findings})
	case "sarif":
		return printJSON(w, sarifOf(source.file, findings))
	}
	fmt.Fprintf(w, "%s: valid, %s\n", policyName(source.file), describe(source.doc))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		place := source.file
		if f.Line > 0 {
			place = fmt.Sprintf("%s:%d", place, f.Line)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", place, f.Severity, f.Code, f.Message)
	}
	return t.Flush()
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
