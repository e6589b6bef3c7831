package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/policy"
)

// policyVerdict is one host of "policy test -o json".
type policyVerdict struct {
	Input   string `json:"input"`
	Host    string `json:"host,omitempty"` // canonical; absent if malformed
	Verdict string `json:"verdict"`        // allow, deny
	Rule    int    `json:"rule"`           // -1: no rule
	Glob    string `json:"glob,omitempty"`
	Reason  string `json:"reason"`
	Detail  string `json:"detail,omitempty"` // what is wrong with a bad host
}

func newPolicyTestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test FILE [HOST...]",
		Short: "Say whether a policy allows hosts",
		Long: `Say whether a policy allows hosts: the verdict, the index of the deciding rule
and its glob. Exit code 3 says that at least one host is denied.

With --fixtures, the hosts and the verdicts that are expected come from a file;
exit code 3 says that at least one verdict is another:

  cases:
    - {host: api.example.com, verdict: allow, why: the agent's own API}
    - {host: admin.example.com, verdict: deny}`,
		Example: `  sallyport policy test policy.yaml api.example.com registry.example.com
  sallyport policy test -o json policy.yaml bücher.example
  sallyport policy test --fixtures policy-test.yaml -o junit policy.yaml`,
		Args: cobra.MinimumNArgs(1),
	}
	format := addFormatFlag(cmd, "junit")
	file := cmd.Flags().String("fixtures", "", "file of hosts and expected verdicts")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if (len(args) > 1) == (*file != "") {
			return usageErrorf("want hosts or --fixtures")
		}
		if *file == "" && format.value == "junit" {
			return usageErrorf("-o junit is for --fixtures")
		}
		doc, err := readPolicy(cmd, args[0])
		if err != nil {
			return err
		}
		compiled, err := policy.Compile(doc)
		if err != nil {
			return fmt.Errorf("%s: %w", policyName(args[0]), err)
		}
		no := false
		if *file != "" {
			no, err = testFixtures(cmd.OutOrStdout(), compiled, *file, format.value)
		} else {
			no, err = testHosts(cmd.OutOrStdout(), compiled, args[1:], format.value)
		}
		if err == nil && no {
			err = exitError{code: exitNo}
		}
		return err
	}
	return cmd
}

func testFixtures(w io.Writer, p *policy.Policy, file, format string) (no bool, err error) {
	cases, err := readFixtures(file)
	if err != nil {
		return false, err
	}
	results, failed := runFixtures(p, cases)
	return failed > 0, printFixtures(w, format, results, failed)
}

func testHosts(w io.Writer, p *policy.Policy, hosts []string, format string) (no bool, err error) {
	verdicts := make([]policyVerdict, 0, len(hosts))
	for _, input := range hosts {
		v, _ := judge(p, input)
		no = no || v.Verdict != policy.Allow.String()
		verdicts = append(verdicts, v)
	}
	return no, printVerdicts(w, format, verdicts)
}

// judge decides on a host as it was typed. The Host is zero if it is malformed.
func judge(p *policy.Policy, input string) (policyVerdict, policy.Host) {
	v := policyVerdict{Input: input}
	h, err := policy.CanonicalHost(input)
	if err != nil {
		v.Detail = err.Error()
	}
	d := p.Decide(h)
	v.Host, v.Verdict, v.Rule, v.Glob, v.Reason = h.String(), d.Action.String(), d.Rule, d.Glob, string(d.Reason)
	return v, h
}

func printVerdicts(w io.Writer, format string, verdicts []policyVerdict) error {
	if format == string(outputJSON) {
		return printJSON(w, verdicts)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range verdicts {
		name := v.Host
		if name == "" {
			name = fmt.Sprintf("%q", v.Input)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", v.Verdict, name, decidedBy(v))
	}
	return t.Flush()
}

// decidedBy says in words where a verdict comes from.
func decidedBy(v policyVerdict) string {
	switch {
	case v.Detail != "":
		return v.Detail
	case v.Rule != policy.DefaultRule:
		return fmt.Sprintf("rule %d  %s", v.Rule, v.Glob)
	case v.Verdict == policy.Allow.String():
		return "unrestricted policy"
	}
	return "no rule matches"
}
