package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/cmd/sallyport/doctor"
	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// doctorFlags are the flags of "sallyport doctor".
type doctorFlags struct {
	image     string
	workspace string
	without   []string
	only      []string
	timeout   time.Duration
	format    *outputFormat
}

func newDoctorCommand() *cobra.Command {
	f := &doctorFlags{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check that each runtime in a sandbox gets through the edge",
		Long: `Check that each runtime in a sandbox gets through the edge.

A sandbox is started as run does it, and each runtime that is found in it (curl,
git, Node, Python, Go, Java, package managers) asks an HTTPS server on this
machine: once with the proxy variables, once without. A runtime that ignores
those crosses transparently both times, which is in order. What fails is named,
with the variable or store to mend; what isn't there is listed as absent. No
other host is asked. The exit code is 1 if anything fails.

Runtimes in the directory "bin" of --workspace are examined too.`,
		Example: `  sallyport doctor
  sallyport doctor --image ./rootfs.tar -o json
  sallyport doctor --without NODE_EXTRA_CA_CERTS    # who needs it?`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.image, "image", "host", "root file system: host, a directory or a tar `FILE`")
	flags.StringVar(&f.workspace, "workspace", "", "mount `DIR` read-write at /workspace, and look for runtimes in its bin")
	flags.StringArrayVar(&f.without, "without", nil, "leave the variable `NAME` out of the sandbox")
	flags.StringArrayVar(&f.only, "only", nil, "examine the runtime `NAME` only")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "give each runtime `DURATION`")
	f.format = addOutputFlag(cmd)
	_ = cmd.MarkFlagDirname("workspace")
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(probeNames(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		done, code, err := runs.EnterUserNamespace()
		if err != nil {
			return err
		}
		if done {
			return exitWith(code, nil)
		}
		x, err := f.examination()
		if err != nil {
			return err
		}
		results, err := x.run(cmd.Context(), cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		return f.report(cmd.OutOrStdout(), results)
	}
	return cmd
}

func probeNames() []string {
	var names []string
	for _, p := range doctor.Probes() {
		names = append(names, p.Name)
	}
	return names
}

// report prints the results. Its error says that some failed.
func (f *doctorFlags) report(w io.Writer, results []doctor.Result) error {
	var failed, ran int
	for _, r := range results {
		if r.Status != doctor.Absent {
			ran++
		}
		if r.Status == doctor.Failed {
			failed++
		}
	}
	var err error
	if *f.format == outputJSON {
		err = printJSON(w, results)
	} else {
		err = printDiagnosis(w, results)
	}
	switch {
	case err != nil:
		return err
	case failed > 0:
		return fmt.Errorf("%d of %d probes failed", failed, ran)
	default:
		return nil
	}
}

// printDiagnosis prints a line for each result, and then what to do.
func printDiagnosis(w io.Writer, results []doctor.Result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range results {
		const most = 60
		note := r.Version[:min(len(r.Version), most)]
		if r.Status == doctor.OK && r.Crossed != string(r.Way) {
			note = strings.TrimSpace("crossed " + r.Crossed + "; " + note)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Runtime, r.Way, r.Status, note)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		if r.Status != doctor.Failed {
			continue
		}
		if _, err := fmt.Fprintf(w, "\n%s, %s: %s\n  it said:  %s\n  to mend:  %s\n", r.Runtime, r.Way, r.Cause, r.Said, r.Advice); err != nil {
			return err
		}
	}
	return nil
}
