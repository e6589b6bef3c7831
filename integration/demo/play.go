package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/sallyport/sallyport/integration/harness"
)

// outcome is what a step left to be judged.
type outcome struct {
	code     int
	output   string             // what the command printed, both streams
	received []harness.Received // by the origin, during the step
	audit    []harness.Record
}

// play runs a step's command in a sandbox, shows its output and judges it.
func (d *demo) play(ctx context.Context, s step, out *printer) error {
	ctx, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	if err := os.RemoveAll(d.path("audit")); err != nil {
		return err
	}
	earlier := len(d.origin.Received())

	args := append(append([]string{"run"}, policyFlags...), d.placeFlags()...)
	cmd := exec.CommandContext(ctx, d.product.Path("sallyport"), append(append(args, "--"), s.command...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(os.Environ(), "API_TOKEN="+token)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return fmt.Errorf("run sallyport: %w", err)
	}
	records, err := harness.ReadAudit(d.path("audit"))
	if err != nil {
		return err
	}
	o := outcome{
		code: cmd.ProcessState.ExitCode(), output: output.String(),
		received: d.origin.Received()[earlier:], audit: records,
	}
	out.output(o.output)
	for _, c := range s.checks {
		if !c.holds(o) {
			return fmt.Errorf("%s: it isn't so (exit code %d, %d requests received, audit %+v)", c.says, o.code, len(o.received), o.audit)
		}
		out.holds(c.says)
	}
	return nil
}

// policyFlags are those that a user of the product would write.
var policyFlags = []string{"--allow", api, "--allow", other, "--secret", "API_TOKEN@" + api}

// placeFlags say where the demo's names are on this machine.
func (d *demo) placeFlags() []string {
	flags := []string{"--audit", d.path("audit"), "--upstream-ca", d.path("ca.pem"), "--upstream-cidr", "127.0.0.1/32"}
	for _, name := range []string{api, other, off} {
		flags = append(flags, "--resolve", name+":443="+d.origin.Addr())
	}
	return flags
}

func (o outcome) prints(text string) bool { return strings.Contains(o.output, text) }

// crossed reports whether the audit has a crossing like this one.
func (o outcome) crossed(mode, host, verdict string) bool {
	for _, r := range o.audit {
		if r.Mode == mode && r.Host == host && r.Verdict == verdict {
			return true
		}
	}
	return false
}
