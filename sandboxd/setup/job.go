package setup

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport/sandboxd/environment"
)

// Causes for which a run's context ends, besides the end of the service.
var (
	errCancelled = errors.New("the run was cancelled")
	errTimeout   = errors.New("the script took too long")
)

// job is a run in flight.
type job struct {
	definition environment.Definition
	done       chan struct{} // closed when the run has ended and its record is saved

	mu      sync.Mutex // guards what follows
	run     Run
	changed chan struct{} // closed and replaced with each change
	journal *journal      // nil until the run has begun
	cause   error         // why it is to end; nil: it isn't
	end     context.CancelCauseFunc
}

func newJob(run Run, d environment.Definition) *job {
	return &job{definition: d, run: run, changed: make(chan struct{}), done: make(chan struct{})}
}

// sandboxID is the id of a run's sandbox and boundary.
func sandboxID(runID string) string {
	return strings.ToLower(strings.ReplaceAll(runID, "_", "-"))
}

// cancel ends the run for a cause, now or as soon as it begins.
func (j *job) cancel(cause error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cause == nil {
		j.cause = cause
	}
	if j.end != nil {
		j.end(j.cause)
	}
}

// begin returns the context of the run.
func (j *job) begin(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(ctx)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.end = end
	if j.cause != nil {
		end(j.cause)
	}
	return ctx, end
}

// update changes the run and tells those who wait.
func (j *job) update(change func(*Run)) Run {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(&j.run)
	j.announce()
	return j.current()
}

// announce tells those who wait, for a caller that holds mu.
func (j *job) announce() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// notify says that the log has grown.
func (j *job) notify() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.announce()
}

// current returns the run with the size of its log, for a caller that holds mu.
func (j *job) current() Run {
	run := j.run
	if j.journal != nil {
		run.LogLines, run.LogBytes, run.LogTruncated = j.journal.size.load()
	}
	return run
}

func (j *job) snapshot() Run {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.current()
}

// watch returns the run, and what is closed when it changes.
func (j *job) watch() (Run, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.current(), j.changed
}

// wait returns when the run is as it is waited for, when it ends, or after a
// time.
func (j *job) wait(ctx context.Context, most time.Duration, changed <-chan struct{}, reached func(Run) bool) {
	if most <= 0 {
		return
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	for run := j.snapshot(); !reached(run) && !run.Status.Terminal(); run, changed = j.watch() {
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
