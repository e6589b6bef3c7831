package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/sandboxd/apiclient"
)

func newRunLogCommand(remote *remoteFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "log ENVIRONMENT [RUN]", Short: "Print the log of a setup run",
		Long: `Print the log of a setup run: what the script printed, and before it the line of
the script that was about to run. With -o json each line is an object, with its
stream and its time. Sequences that steer a terminal are left out of the text.`,
		Example: `  sallyport setup-run log env_01
  sallyport setup-run log env_01 srun_01 -f`,
		Args: cobra.RangeArgs(1, 2),
	}
	cmd.ValidArgsFunction = completeEnvironments(remote)
	wait := cmd.Flags().BoolP("follow", "f", false, "wait for more until the run has ended")
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := remote.connect()
		if err != nil {
			return err
		}
		environment, run, err := runArgs(cmd.Context(), client, args)
		if err != nil {
			return fmt.Errorf("read log of setup run: %w", err)
		}
		if err := printLog(cmd, client, environment, run, *wait, *format); err != nil {
			return fmt.Errorf("read log of setup run: %w", err)
		}
		return nil
	}
	return cmd
}

// logPage is how many lines are read at a time: as many as the service gives.
const logPage = 2000

// printLog prints the log from its beginning: what there is, or with follow
// all there will be.
func printLog(cmd *cobra.Command, client *apiclient.ClientWithResponses, environment, run string, follow bool, format outputFormat) error {
	out, after := cmd.OutOrStdout(), int64(0)
	for {
		q := apiclient.GetEnvironmentSetupRunLogParams{After: &after, Limit: ptr(int64(logPage))}
		if follow {
			q.WaitSeconds = ptr(int64(runWait))
		}
		var part struct {
			apiclient.SetupRunLog
			Lines []json.RawMessage `json:"lines"`
		}
		res, err := client.GetEnvironmentSetupRunLog(cmd.Context(), environment, run, &q)
		if _, err := answer(res, err, &part); err != nil {
			return err
		}
		for _, line := range part.Lines {
			if err := printLine(out, line, format); err != nil {
				return err
			}
		}
		after = part.NextAfter
		if len(part.Lines) == 0 && (!follow || ended(string(part.Status))) {
			if part.Truncated {
				cmd.PrintErrln("the log is longer than is kept; this was its beginning")
			}
			return nil
		}
	}
}

func printLine(w io.Writer, raw json.RawMessage, format outputFormat) error {
	if format == outputJSON {
		_, err := fmt.Fprintf(w, "%s\n", raw)
		return err
	}
	var l apiclient.LogLine
	if err := json.Unmarshal(raw, &l); err != nil {
		return fmt.Errorf("read line: %w", err)
	}
	mark := ""
	switch {
	case l.Stream == "marker" && l.Line != nil:
		mark = fmt.Sprintf("%3d > ", *l.Line)
	case l.Stream == "system":
		mark = "  * "
	}
	_, err := fmt.Fprintf(w, "%s%s\n", mark, printable(l.Text))
	return err
}
