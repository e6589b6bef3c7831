package sandboxd

import (
	"context"
	"time"

	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/setup"
)

// Idle is a Runs that starts nothing, for a service on a machine that can't run
// sandboxes. It shows the runs there were.
type Idle struct {
	Records Records
	Reason  string // what is missing, for whoever asks for a run
}

var _ Runs = Idle{}

// Start implements Runs. Fault: capability_not_supported.
func (i Idle) Start(context.Context, setup.Request) (setup.Run, error) {
	return setup.Run{}, fault.New(fault.CapabilityNotSupported, "this service runs no sandboxes: %s", i.Reason)
}

// Cancel implements Runs.
func (i Idle) Cancel(ctx context.Context, id string) (setup.Run, error) {
	run, err := i.Records.Run(ctx, id)
	switch {
	case err != nil:
		return run, err
	case run.Status.Terminal():
		return run, fault.New(fault.SetupRunFinished, "the setup run has ended")
	}
	return run, fault.New(fault.CapabilityNotSupported, "this service runs no sandboxes: %s", i.Reason)
}

// Get implements Runs. Nothing changes, so it doesn't wait.
func (i Idle) Get(ctx context.Context, id string, _ time.Duration) (setup.Run, error) {
	return i.Records.Run(ctx, id)
}

// Log implements Runs. The lines are kept by what runs sandboxes.
func (i Idle) Log(ctx context.Context, id string, after int64, _ int, _ time.Duration) (setup.Page, error) {
	run, err := i.Records.Run(ctx, id)
	return setup.Page{NextAfter: after, Status: run.Status, Truncated: run.LogTruncated}, err
}
