package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/sandboxd/apiclient"
)

func newEnvVerifyCommand(remote *remoteFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify ENVIRONMENT",
		Short: "Run the setup script and wait for the verdict",
		Long: `Run the setup script on fresh compute and wait for the verdict. A run that is in
flight already is followed instead of starting another one.

The exit code is 0 when sessions can start from the environment afterwards, and
3 when they can't; then the output says which line failed, and why. A run goes
on when this command is interrupted: "sallyport setup-run cancel" ends it.`,
		Example: `  sallyport env verify env_01
  sallyport env verify env_01 -o json`,
		Args: cobra.ExactArgs(1),
	}
	cmd.ValidArgsFunction = completeEnvironments(remote)
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := remote.connect()
		if err != nil {
			return err
		}
		return verifyEnvironment(cmd, client, args[0], *format)
	}
	return cmd
}

// verifyEnvironment runs setup and prints the verdict. What isn't verified is
// the answer "no".
func verifyEnvironment(cmd *cobra.Command, client *apiclient.ClientWithResponses, id string, format outputFormat) error {
	run, err := startRun(cmd.Context(), client, id)
	if err != nil {
		return fmt.Errorf("verify environment: %w", err)
	}
	raw, run, err := follow(cmd.Context(), client, run, newPhases(cmd.ErrOrStderr()))
	if err != nil {
		return fmt.Errorf("verify environment: wait for run %s, which goes on: %w", run.SetupRunId, err)
	}
	var e apiclient.Environment
	res, err := client.GetEnvironment(cmd.Context(), id)
	data, err := answer(res, err, &e)
	if err != nil {
		return fmt.Errorf("verify environment: %w", err)
	}
	if format == outputJSON {
		err = printJSON(cmd.OutOrStdout(), map[string]json.RawMessage{"setup_run": raw, "environment": data})
	} else {
		err = showVerdict(cmd.OutOrStdout(), run, e.SetupVerification)
	}
	if err != nil {
		return err
	}
	if !usable(e.SetupVerification) {
		return exitError{code: exitNo}
	}
	return nil
}

// usable says whether a session could start (ledger SV-40).
func usable(v apiclient.Verification) bool {
	return v.Status == "verified" && !v.Stale && v.Image != nil && *v.Image == "usable"
}

// startRun starts a manual run, or returns the one that is in flight.
func startRun(ctx context.Context, client *apiclient.ClientWithResponses, id string) (run apiclient.SetupRun, err error) {
	res, err := client.StartEnvironmentSetupRun(ctx, id, &apiclient.StartEnvironmentSetupRunParams{})
	_, err = answer(res, err, &run)
	if refused := (*apiclient.Failure)(nil); errors.As(err, &refused) && refused.Code == "setup_run_in_flight" {
		res, err := client.GetEnvironmentSetupRun(ctx, id, detail(refused, "active_setup_run_id"), &apiclient.GetEnvironmentSetupRunParams{})
		_, err = answer(res, err, &run)
		return run, err
	}
	return run, err
}

// runWait is how long the service is asked to wait for news, in seconds: as
// long as it does at most.
const runWait = 5

// follow waits until a run has ended, and shows its phases on the way.
func follow(ctx context.Context, client *apiclient.ClientWithResponses, run apiclient.SetupRun, shown *phases) (json.RawMessage, apiclient.SetupRun, error) {
	defer shown.end()
	for {
		shown.show(run)
		res, err := client.GetEnvironmentSetupRun(ctx, run.EnvironmentId, run.SetupRunId,
			&apiclient.GetEnvironmentSetupRunParams{WaitSeconds: ptr(int64(runWait))})
		var now apiclient.SetupRun
		raw, err := answer(res, err, &now)
		if err != nil {
			return nil, run, err
		}
		run = now
		if ended(string(run.Status)) {
			shown.show(run)
			return raw, run, nil
		}
	}
}

// ended says whether a run of this status never changes again.
func ended(status string) bool {
	return status == "succeeded" || status == "failed" || status == "cancelled"
}

// showVerdict prints how a run ended and what that means.
func showVerdict(w io.Writer, run apiclient.SetupRun, v apiclient.Verification) error {
	showOutcome(w, run)
	_, err := fmt.Fprintf(w, "%s\n", v.Label)
	return err
}

// showOutcome prints what an author needs to correct a script.
func showOutcome(w io.Writer, run apiclient.SetupRun) {
	fmt.Fprintf(w, "run %s %s", run.SetupRunId, run.Status)
	if run.Phase != nil && run.Status != "succeeded" {
		fmt.Fprintf(w, " in phase %s", *run.Phase)
	}
	if run.DurationMs != nil {
		fmt.Fprintf(w, " after %s", span(run.DurationMs))
	}
	fmt.Fprintln(w)
	if line := or(run.FailedLine); line > 0 {
		fmt.Fprintf(w, "line %d: %s\n", line, printable(or(run.FailedCommand)))
	}
	if run.ExitCode != nil && *run.ExitCode != 0 {
		fmt.Fprintf(w, "exit code: %d\n", *run.ExitCode)
	}
	if run.FailureCode != nil {
		fmt.Fprintf(w, "failure: %s\n", *run.FailureCode)
	}
	if run.Message != nil {
		fmt.Fprintln(w, printable(*run.Message))
	}
	if run.StderrTail != nil {
		fmt.Fprint(w, indent("  | ", printable(*run.StderrTail)))
	}
	if run.Hint != nil {
		fmt.Fprintf(w, "hint: %s (%s)\n", printable(*run.Hint), or(run.HintCode))
	}
}
