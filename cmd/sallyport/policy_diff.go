package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/diff"
)

// policyDiff is what "policy diff -o json" prints.
type policyDiff struct {
	Old     string         `json:"old"`
	New     string         `json:"new"`
	Widens  bool           `json:"widens"`
	Changes []policyChange `json:"changes"`
	Effects []policyEffect `json:"effects"`
}

type policyChange struct {
	Direction string `json:"direction"` // widening, narrowing
	Pattern   string `json:"pattern"`
	Whole     bool   `json:"whole"` // every host of pattern changes
	Witness   string `json:"witness,omitempty"`
	OldRule   int    `json:"old_rule"` // -1: no rule
	OldGlob   string `json:"old_glob,omitempty"`
	NewRule   int    `json:"new_rule"`
	NewGlob   string `json:"new_glob,omitempty"`
}

type policyEffect struct {
	Direction string `json:"direction"`
	Text      string `json:"text"`
	Host      string `json:"host"`
}

func newPolicyDiffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say which hosts become reachable and which stop",
		Long: `Say which hosts become reachable and which stop when one policy replaces
another: a pattern, the rules that decide, and a host that shows it. What is not
listed does not change for any host there is.

With --bindings also which secrets and repositories come into use. With
--fail-on widening, exit code 3 says that anything becomes reachable or usable.`,
		Example: `  sallyport policy diff old.yaml new.yaml
  sallyport policy diff --fail-on widening --bindings edge.yaml old.yaml new.yaml
  sallyport policy diff -o markdown old.yaml new.yaml`,
		Args: cobra.ExactArgs(2),
	}
	format := addFormatFlag(cmd, "markdown")
	failOn := cmd.Flags().String("fail-on", "", "exit 3 on this: widening")
	bindings := cmd.Flags().String("bindings", "", "file of bindings and grants, or configuration of an edge")
	oldBindings := cmd.Flags().String("old-bindings", "", "the same as it was before, if it changes too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *failOn != "" && *failOn != diff.Widening.String() {
			return usageErrorf("--fail-on: want widening, found %q", *failOn)
		}
		d, err := comparePolicies(cmd, args, *oldBindings, *bindings)
		if err != nil {
			return err
		}
		if err := printDiff(cmd.OutOrStdout(), format.value, d); err != nil {
			return err
		}
		if *failOn != "" && d.Widens {
			return exitError{code: exitNo}
		}
		return nil
	}
	return cmd
}

func comparePolicies(cmd *cobra.Command, files []string, oldBindings, bindings string) (policyDiff, error) {
	before, err := readPolicy(cmd, files[0])
	if err != nil {
		return policyDiff{}, err
	}
	after, err := readPolicy(cmd, files[1])
	if err != nil {
		return policyDiff{}, err
	}
	changes, err := diff.Compare(before, after)
	if err != nil {
		return policyDiff{}, fmt.Errorf("compare policies: %w", err)
	}
	var held, holds diff.Holdings
	if bindings != "" {
		if holds, err = readHoldings(bindings); err != nil {
			return policyDiff{}, err
		}
		held = holds
	}
	if oldBindings != "" {
		if held, err = readHoldings(oldBindings); err != nil {
			return policyDiff{}, err
		}
	}
	effects, err := diff.Radius(before, after, held, holds)
	if err != nil {
		return policyDiff{}, err
	}
	return wireDiff(files, changes, effects), nil
}

func wireDiff(files []string, changes []diff.Change, effects []diff.Effect) policyDiff {
	d := policyDiff{Old: files[0], New: files[1], Widens: diff.Widens(changes), Changes: []policyChange{}, Effects: []policyEffect{}}
	for _, c := range changes {
		d.Changes = append(d.Changes, policyChange{
			Direction: c.Direction.String(), Pattern: c.Pattern, Whole: c.Whole, Witness: c.Witness.String(),
			OldRule: c.Old.Index, OldGlob: c.Old.Glob, NewRule: c.New.Index, NewGlob: c.New.Glob,
		})
	}
	for _, e := range effects {
		d.Widens = d.Widens || e.Direction == diff.Widening
		d.Effects = append(d.Effects, policyEffect{e.Direction.String(), e.String(), e.Host.String()})
	}
	return d
}

func printDiff(w io.Writer, format string, d policyDiff) error {
	switch format {
	case string(outputJSON):
		return printJSON(w, d)
	case "markdown":
		return printDiffMarkdown(w, d)
	}
	if len(d.Changes) == 0 && len(d.Effects) == 0 {
		_, err := fmt.Fprintln(w, "no host changes")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range d.Changes {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", c.sign(), c.hosts(), c.example(), c.rules())
	}
	for _, e := range d.Effects {
		fmt.Fprintf(t, "%s\t%s\n", sign(e.Direction), e.Text)
	}
	return t.Flush()
}

func sign(direction string) string {
	if direction == diff.Widening.String() {
		return "+"
	}
	return "-"
}

func (c policyChange) sign() string { return sign(c.Direction) }

func (c policyChange) hosts() string {
	if c.Whole {
		return c.Pattern
	}
	return "part of " + c.Pattern
}

func (c policyChange) example() string {
	if c.Witness == "" {
		return "perhaps an internationalised name"
	}
	return "such as " + c.Witness
}

func (c policyChange) rules() string {
	return ruleName(c.OldRule, c.OldGlob) + " -> " + ruleName(c.NewRule, c.NewGlob)
}

func ruleName(rule int, glob string) string {
	if rule == policy.DefaultRule {
		return "no rule"
	}
	return fmt.Sprintf("rule %d %s", rule, glob)
}

// printDiffMarkdown writes a comment for a pull request.
func printDiffMarkdown(w io.Writer, d policyDiff) error {
	var b strings.Builder
	switch {
	case d.Widens:
		b.WriteString("### Network policy: wider\n\n")
	case len(d.Changes)+len(d.Effects) > 0:
		b.WriteString("### Network policy: narrower\n\n")
	default:
		b.WriteString("### Network policy: no host changes\n")
	}
	if len(d.Changes) > 0 {
		b.WriteString("| | hosts | for example | decided by |\n|---|---|---|---|\n")
	}
	for _, c := range d.Changes {
		verb := "denied from now on"
		if c.Direction == diff.Widening.String() {
			verb = "**allowed from now on**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", verb, code(c.hosts()), code(c.Witness), code(c.rules()))
	}
	if len(d.Effects) > 0 {
		b.WriteString("\n")
	}
	for _, e := range d.Effects {
		fmt.Fprintf(&b, "- %s\n", code(e.Text))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// code makes text literal inside of a Markdown table. A glob has no backquotes.
func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(strings.ReplaceAll(s, "`", "'"), "|", `\|`) + "`"
}
