package setup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/provider"
	"github.com/sallyport/sallyport/sandboxd/redact"
	"github.com/sallyport/sallyport/sandboxd/setup/trace"
)

// cleanupTimeout bounds what releases compute.
const cleanupTimeout = time.Minute

// attempt is what a run has while it is going on.
type attempt struct {
	r      *Runner
	j      *job
	log    *journal
	script *trace.Map
	trace  trace.Trace

	on       image.Image
	network  provider.Network
	opened   bool // the boundary
	access   Access
	sandbox  provider.Sandbox
	result   *scriptResult // nil until the script has started
	captured image.Image
	imageErr string
}

// run takes a run from the queue to its end.
func (r *Runner) run(ctx context.Context, j *job) {
	ctx, end := j.begin(ctx)
	defer end(nil)
	script := j.definition.Setup.Script
	a := &attempt{r: r, j: j, script: trace.NewMap(script)}
	log, err := newJournal(logPath(r.o.LogDir, j.run.ID), a.script, redact.New(), r.now, j.notify)
	if err == nil {
		a.log = log
		j.mu.Lock()
		j.journal = log
		j.mu.Unlock()
		err = a.phases(ctx)
	} else {
		err = failed(FailProvision, err, "The run's log can't be written: it is a fault of the service, not of the script.")
	}
	phase := j.snapshot().Phase
	clean := context.WithoutCancel(ctx)
	a.cleanup(clean)
	a.end(clean, phase, err, context.Cause(ctx))
}

// phases runs the phases up to the one that fails.
func (a *attempt) phases(ctx context.Context) error {
	for _, p := range []struct {
		phase  Phase
		status Status
		says   string
		do     func(context.Context) error
	}{
		{Provision, Provisioning, "Starting compute.", a.provision},
		{GPUCheck, Running, "", a.checkGPU},
		{Script, Running, "Running the setup script.", a.runScript},
		{Profile, Running, "Checking the compute.", a.profile},
		{Commit, Running, "Saving a reusable image.", a.commit},
	} {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a.enter(ctx, p.phase, p.status, p.says)
		if err := p.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// enter makes a phase the present one.
func (a *attempt) enter(ctx context.Context, phase Phase, status Status, says string) {
	run := a.j.update(func(run *Run) {
		run.Phase, run.Status = phase, status
		if says != "" {
			run.Message = says
		}
		if run.StartedAt.IsZero() {
			run.StartedAt = a.r.now()
		}
	})
	if says != "" {
		a.log.system("%s", says)
	}
	a.save(ctx, run)
}

// save saves the run as it is. That it couldn't doesn't end the run: its end
// is saved again, and a run whose end isn't saved is one that was interrupted.
func (a *attempt) save(ctx context.Context, run Run) {
	if err := a.r.o.Records.SaveRun(context.WithoutCancel(ctx), run); err != nil {
		a.r.o.Log.Error("save setup run", "run", run.ID, "error", err)
	}
}

// cleanup releases the compute. The boundary closes when nothing can use it any
// more.
func (a *attempt) cleanup(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	if a.log != nil && a.network != nil {
		run := a.j.update(func(run *Run) { run.Phase = Cleanup })
		a.log.system("Releasing compute.")
		a.save(ctx, run)
	}
	var errs []error
	if a.sandbox != nil {
		errs = append(errs, a.sandbox.Stop(ctx))
	}
	if a.opened {
		errs = append(errs, a.r.o.Boundaries.Close(ctx, sandboxID(a.j.run.ID)))
	}
	if a.network != nil {
		errs = append(errs, a.network.Close())
	}
	if err := errors.Join(errs...); err != nil {
		a.r.o.Log.Error("release compute of a setup run", "run", a.j.run.ID, "error", err)
	}
}

// end says how the run ended. phase is the one that it failed in.
func (a *attempt) end(ctx context.Context, phase Phase, err, cause error) {
	run := a.outcome(phase, err, cause)
	if a.log != nil {
		a.log.system("%s", run.Message)
		if run.Hint != "" {
			a.log.system("%s", run.Hint)
		}
		if err := a.log.close(); err != nil {
			a.r.o.Log.Error("write log of a setup run", "run", run.ID, "error", err)
		}
		run.LogLines, run.LogBytes, run.LogTruncated = a.log.size.load()
	}
	if err != nil && cause == nil {
		a.r.o.Log.Info("setup run failed", "run", run.ID, "phase", string(phase), "error", err)
	}
	run.FinishedAt = a.r.now()
	a.saveEnd(ctx, run)
	a.j.update(func(now *Run) { *now = run })
	a.r.mu.Lock()
	delete(a.r.jobs, run.ID)
	a.r.mu.Unlock()
	close(a.j.done)
}

// saveEnd saves the run until that succeeds, for a while: what isn't saved
// looks as if it went on.
func (a *attempt) saveEnd(ctx context.Context, run Run) {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	for again := 10 * time.Millisecond; ; again *= 2 {
		err := a.r.o.Records.SaveRun(ctx, run)
		if err == nil {
			return
		}
		a.r.o.Log.Error("save end of a setup run", "run", run.ID, "error", err)
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return
		}
	}
}

// outcome is the run as it ends.
func (a *attempt) outcome(phase Phase, err, cause error) Run {
	run := a.j.snapshot()
	run.Phase = phase
	if s := a.result; s != nil && s.exited {
		run.ExitCode = &s.code
	}
	var f *failure
	switch {
	case err == nil:
		run.Status, run.Phase, run.Message = Succeeded, Cleanup, "Setup passed and its reusable image was saved."
		run.ImageID, run.ImageError = a.captured.ID, a.imageErr
		if a.imageErr != "" {
			run.Message = "Setup passed, but its reusable image failed: " + a.imageErr
		}
	case errors.Is(cause, errCancelled):
		run.Status, run.Message = Cancelled, "The run was cancelled."
	case cause != nil:
		run.Status, run.FailureCode, run.Message = Failed, FailProvision, messageInterrupted
	case errors.As(err, &f):
		run.Status, run.FailureCode, run.Message = Failed, f.code, f.message
	default:
		run.Status, run.FailureCode, run.Message = Failed, FailProvision, "The run failed: it is a fault of the service, not of the script."
	}
	if run.Status == Failed && phase == Script && cause == nil && a.result != nil {
		s := a.result
		run.FailedLine, run.FailedCommand, run.StderrTail = s.line, s.command, s.stderrTail
		run.HintCode, run.Hint = string(s.hint.Code), s.hint.Text
	}
	return run
}

// labels go into each record that the edge writes of the run.
func (a *attempt) labels() map[string]string {
	return map[string]string{
		"organization_id": a.j.run.OrganizationID,
		"environment_id":  a.j.run.EnvironmentID,
		"setup_run_id":    a.j.run.ID,
	}
}

// checkGPU looks for the accelerator. No provider has one yet, so that an
// environment with one never gets as far as compute.
func (a *attempt) checkGPU(context.Context) error {
	if a.j.definition.Resources.Accelerator == nil {
		return nil
	}
	return failed(FailGPU, nil, "The compute has no accelerator.")
}

// commit makes an image of what the script made. A run passes without one, but
// no session can start from it (ledger SV-16).
func (a *attempt) commit(ctx context.Context) error {
	captured, err := a.r.o.Images.Capture(ctx, a.sandbox, image.Capture{
		OrganizationID: a.j.run.OrganizationID,
		EnvironmentID:  a.j.run.EnvironmentID,
		Fingerprint:    a.j.run.Fingerprint,
		On:             a.on,
		Secrets:        a.access.Secrets,
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refused *image.RefusedError
	switch {
	case err == nil:
		a.captured = captured
		return nil
	case errors.As(err, &refused):
		a.imageErr = refused.Error()
	default:
		a.imageErr = "it couldn't be saved, which is a fault of the service."
	}
	a.log.system("The image failed: %s", a.imageErr)
	a.r.o.Log.Warn("capture image of a setup run", "run", a.j.run.ID, "error", err)
	return nil
}

// diskBytes is the size of the run's disk.
func (a *attempt) diskBytes() int64 {
	if n := a.j.definition.WorkspaceGiB; n > 0 {
		return n * gibibyte
	}
	return a.r.o.DefaultDiskBytes
}

// limits are those of the size that the environment asks for.
func (a *attempt) limits() (provider.Limits, error) {
	size, err := a.r.o.Catalogue.Resolve(a.j.definition.Need())
	if err != nil {
		return provider.Limits{}, fmt.Errorf("resolve size: %w", err)
	}
	return provider.Limits{CPUs: float64(size.CPUMilli) / 1000, MemoryBytes: size.MemoryMiB * mebibyte}, nil
}
