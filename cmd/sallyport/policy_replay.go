package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/recorded"
	"github.com/sallyport/sallyport/policy/replay"
)

// policyReplay is what "policy replay -o json" prints.
type policyReplay struct {
	replayCounts
	Opened         int64           `json:"opened"`
	Closed         int64           `json:"closed"`
	Hosts          []replayHost    `json:"hosts"`
	Rules          []replayRule    `json:"rules"`
	Sandboxes      []replaySandbox `json:"sandboxes"`
	OtherHosts     replayFlip      `json:"other_hosts"` // beyond those listed
	OtherSandboxes replayFlip      `json:"other_sandboxes"`
}

type replayCounts struct {
	Bytes     int64 `json:"bytes"`
	Lines     int64 `json:"lines"`
	Malformed int64 `json:"malformed"`
	Decided   int64 `json:"decided"` // by the policy of the time
}

type replayFlip struct {
	Opened int64 `json:"opened"` // denied then, allowed now
	Closed int64 `json:"closed"` // allowed then, denied now
}

type replayHost struct {
	Host string `json:"host"`
	Rule int    `json:"rule"`
	Glob string `json:"glob,omitempty"`
	replayFlip
}

type replayRule struct {
	Rule int    `json:"rule"`
	Glob string `json:"glob,omitempty"`
	replayFlip
}

type replaySandbox struct {
	Boundary string `json:"boundary"`
	replayFlip
}

func newPolicyReplayCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay FILE AUDIT...",
		Short: "Say which recorded crossings a policy would decide otherwise",
		Long: `Say which recorded crossings a policy would decide otherwise, by host, rule and
sandbox. AUDIT is a log of the edge, plain or compressed with gzip or zstd; - is
standard input. Crossings that something else than the policy refused are left
out.`,
		Example: `  sallyport policy replay new.yaml audit.jsonl audit.jsonl.1.gz
  sallyport policy replay -o json new.yaml - < audit.jsonl`,
		Args: cobra.MinimumNArgs(2),
	}
	format := addOutputFlag(cmd)
	top := cmd.Flags().Int("top", 20, "how many hosts and sandboxes to list as text; 0 lists all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		doc, err := readPolicy(cmd, args[0])
		if err != nil {
			return err
		}
		candidate, err := policy.Compile(doc)
		if err != nil {
			return fmt.Errorf("%s: %w", policyName(args[0]), err)
		}
		r := replay.New(candidate)
		if err := readAudit(cmd, args[1:], r.Read); err != nil {
			return err
		}
		report := wireReplay(r.Report())
		if *format == outputJSON {
			return printJSON(cmd.OutOrStdout(), report)
		}
		return printReplay(cmd.OutOrStdout(), report, *top)
	}
	return cmd
}

func wireReplay(r replay.Report) policyReplay {
	w := policyReplay{
		replayCounts: counts(r.Counts, r.Decided),
		Opened:       r.Total.Opened, Closed: r.Total.Closed,
		Hosts: []replayHost{}, Rules: []replayRule{}, Sandboxes: []replaySandbox{},
		OtherHosts: replayFlip(r.OtherHosts), OtherSandboxes: replayFlip(r.OtherSandboxes),
	}
	for _, h := range r.Hosts {
		w.Hosts = append(w.Hosts, replayHost{h.Host, h.Decision.Rule, h.Decision.Glob, replayFlip(h.Flip)})
	}
	for _, rule := range r.Rules {
		w.Rules = append(w.Rules, replayRule{rule.Rule, rule.Glob, replayFlip(rule.Flip)})
	}
	for _, s := range r.Sandboxes {
		w.Sandboxes = append(w.Sandboxes, replaySandbox{s.Boundary, replayFlip(s.Flip)})
	}
	return w
}

func counts(c recorded.Counts, decided int64) replayCounts {
	return replayCounts{Bytes: c.Bytes, Lines: c.Lines, Malformed: c.Malformed, Decided: decided}
}

func printReplay(w io.Writer, r policyReplay, top int) error {
	fmt.Fprintf(w, "%d crossings decided by a policy, %d lines", r.Decided, r.Lines)
	if r.Malformed > 0 {
		fmt.Fprintf(w, ", %d of them malformed", r.Malformed)
	}
	fmt.Fprintf(w, "\n%d would be allowed now, %d would be denied now\n", r.Opened, r.Closed)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	heading := func(n int, what string) {
		_ = t.Flush() // each table has its own columns
		if n > 0 {
			fmt.Fprintf(t, "\n%s\tallowed now\tdenied now\n", what)
		}
	}
	heading(len(r.Hosts), "host")
	for i, h := range r.Hosts {
		if i == top && top > 0 {
			fmt.Fprintf(t, "%d more\n", len(r.Hosts)-top)
			break
		}
		fmt.Fprintf(t, "%s\t%d\t%d\tby %s\n", h.Host, h.Opened, h.Closed, ruleName(h.Rule, h.Glob))
	}
	heading(len(r.Rules), "rule")
	for _, rule := range r.Rules {
		fmt.Fprintf(t, "%s\t%d\t%d\n", ruleName(rule.Rule, rule.Glob), rule.Opened, rule.Closed)
	}
	heading(len(r.Sandboxes), "sandbox")
	for i, s := range r.Sandboxes {
		if i == top && top > 0 {
			fmt.Fprintf(t, "%d more\n", len(r.Sandboxes)-top)
			break
		}
		fmt.Fprintf(t, "%s\t%d\t%d\n", s.Boundary, s.Opened, s.Closed)
	}
	return t.Flush()
}
