package sandboxd

import (
	"context"
	"time"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/setup"
)

// Runs carries setup runs out. The records are Service's: it stores a run as
// queued, together with the check of the limits and the audit entry, and then
// hands it over. From then on the record is written by Runs until it has ended.
// It is safe for concurrent use.
type Runs interface {
	// Begin takes over a run that was stored as queued. It returns at once;
	// whatever goes wrong ends the run, in its record.
	Begin(run setup.Run, env environment.Environment)
	// Cancel ends a run and returns once its record says how: cancelled, unless
	// it had ended before. ctx bounds the wait, not the ending.
	Cancel(ctx context.Context, organizationID, id string) error
	// Await returns when the record of a run may have changed since it had the
	// status and the number of log lines, or after the wait, or with ctx.
	Await(ctx context.Context, id string, status setup.Status, logLines int64, wait time.Duration)
	// Log returns at most limit lines of a run's log, from the one after a
	// sequence number on.
	Log(ctx context.Context, id string, after int64, limit int) ([]setup.Line, error)
}
