package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/policy"
)

// policyExplanation is what "policy explain -o json" prints.
type policyExplanation struct {
	policyVerdict
	Missed []policyMiss `json:"missed"`
}

type policyMiss struct {
	Rule   int    `json:"rule"`
	Glob   string `json:"glob"`
	Action string `json:"action"`
	Why    string `json:"why"`
}

func newPolicyExplainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain FILE HOST",
		Short: "Say why a policy allows or denies a host",
		Long: `Say why a policy allows or denies a host: the host as the edge reads it, the
rule that decides, and why each rule before it does not. The exit code is 0 for
either verdict.`,
		Example: `  sallyport policy explain policy.yaml API.Example.com.
  sallyport policy explain -o json policy.yaml 10.0.0.5`,
		Args: cobra.ExactArgs(2),
	}
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		doc, err := readPolicy(cmd, args[0])
		if err != nil {
			return err
		}
		e, err := explain(doc, args[1])
		if err != nil {
			return fmt.Errorf("%s: %w", policyName(args[0]), err)
		}
		if *format == outputJSON {
			return printJSON(cmd.OutOrStdout(), e)
		}
		return printExplanation(cmd.OutOrStdout(), e)
	}
	return cmd
}

func explain(doc policy.Document, input string) (policyExplanation, error) {
	compiled, err := policy.Compile(doc)
	if err != nil {
		return policyExplanation{}, err
	}
	verdict, h := judge(compiled, input)
	e := policyExplanation{policyVerdict: verdict, Missed: []policyMiss{}}
	why, err := policy.Explain(doc, h)
	if err != nil {
		return policyExplanation{}, err
	}
	for _, m := range why.Missed {
		e.Missed = append(e.Missed, policyMiss{Rule: m.Rule, Glob: m.Glob, Action: m.Action.String(), Why: m.Why})
	}
	return e, nil
}

func printExplanation(w io.Writer, e policyExplanation) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	host := e.Host
	switch host {
	case "":
		host = fmt.Sprintf("%q is not a host", e.Input)
	case e.Input:
	default:
		host += fmt.Sprintf("  (canonical form of %q)", e.Input)
	}
	fmt.Fprintf(t, "host:\t%s\n", host)
	fmt.Fprintf(t, "verdict:\t%s\n", e.Verdict)
	fmt.Fprintf(t, "reason:\t%s\n", e.Reason)
	fmt.Fprintf(t, "decided by:\t%s\n", decidedBy(e.policyVerdict))
	if err := t.Flush(); err != nil || len(e.Missed) == 0 {
		return err
	}
	fmt.Fprintln(w, "rules that do not match:")
	for _, m := range e.Missed {
		fmt.Fprintf(t, "  %d\t%s\t%s\t%s\n", m.Rule, m.Action, m.Glob, m.Why)
	}
	return t.Flush()
}
