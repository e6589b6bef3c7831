package setup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/machine"
	"github.com/sallyport/sallyport/sandboxd/provider"
)

// Options of a Runner. Providers, Boundaries, Images, Records, Catalogue and
// LogDir are required.
type Options struct {
	Providers  map[string]provider.Provider // by name
	Boundaries Boundaries
	Images     Images
	Records    Records
	Catalogue  machine.Catalogue
	Mounts     Mounts // nil: a run of an environment with mounts fails
	LogDir     string // a directory of the caller's, for the lines of each run

	// Parallel is how many runs have compute at once; the others wait, queued.
	// Zero means 4.
	Parallel int
	// PerOrganization is how many manual runs of an organisation may be in
	// flight; zero means 4 (ledger SV-14).
	PerOrganization int
	// ProvisionTimeout bounds the start of compute; zero means one minute.
	ProvisionTimeout time.Duration
	// DefaultDiskBytes is the disk of an environment that names none; zero
	// means 10 GiB.
	DefaultDiskBytes int64
	// NewID returns the id of a new run, of letters, digits and "_"; nil means
	// srun_ and random letters.
	NewID func() string
	Log   *slog.Logger     // nil means none
	Clock func() time.Time // nil means time.Now
}

const (
	defaultParallel   = 4
	defaultPerOrg     = 4
	defaultProvision  = time.Minute
	defaultDisk       = 10 << 30
	gibibyte          = 1 << 30
	mebibyte          = 1 << 20
	defaultScriptTime = 600 * time.Second
)

// Request asks for a run.
type Request struct {
	OrganizationID string
	EnvironmentID  string
	Definition     environment.Definition // normalised; its script isn't empty
	Fingerprint    string
	Kind           Kind
	SessionID      string // of Kind Session
	RequestedBy    string // of Kind Manual
}

// Runner runs setup. It is safe for concurrent use.
type Runner struct {
	o         Options
	recovered chan struct{} // closed when Serve has ended what was left
	wake      chan struct{} // has room for one: the queue has grown
	logs      logReader

	mu    sync.Mutex      // guards what follows
	jobs  map[string]*job // in flight, by run id
	queue []*job          // those without compute, the oldest first
}

// NewRunner returns a Runner, which accepts runs once it serves.
func NewRunner(o Options) (*Runner, error) {
	if len(o.Providers) == 0 || o.Boundaries == nil || o.Images == nil || o.Records == nil || o.LogDir == "" {
		return nil, errors.New("setup: Providers, Boundaries, Images, Records and LogDir are required")
	}
	if o.Parallel == 0 {
		o.Parallel = defaultParallel
	}
	if o.PerOrganization == 0 {
		o.PerOrganization = defaultPerOrg
	}
	if o.ProvisionTimeout == 0 {
		o.ProvisionTimeout = defaultProvision
	}
	if o.DefaultDiskBytes == 0 {
		o.DefaultDiskBytes = defaultDisk
	}
	if o.NewID == nil {
		o.NewID = func() string { return "srun_" + rand.Text() }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Runner{
		o: o, recovered: make(chan struct{}), wake: make(chan struct{}, 1),
		logs: logReader{dir: o.LogDir}, jobs: make(map[string]*job),
	}, nil
}

// now has the resolution that the API shows.
func (r *Runner) now() time.Time { return r.o.Clock().UTC().Truncate(time.Millisecond) }

// Serve ends what an earlier process left unfinished, then runs what Start
// accepts until ctx is done. Then runs in flight are ended as interrupted, their
// compute is released, and Serve returns nil. It serves once.
func (r *Runner) Serve(ctx context.Context) error {
	if err := os.MkdirAll(r.o.LogDir, 0o700); err != nil {
		return fmt.Errorf("serve setup runs: %w", err)
	}
	if err := r.recover(ctx); err != nil {
		return fmt.Errorf("serve setup runs: %w", err)
	}
	close(r.recovered)
	slots := make(chan struct{}, r.o.Parallel)
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			r.abandonQueue(ctx)
			return nil
		}
		j := r.next(ctx)
		if j == nil {
			r.abandonQueue(ctx)
			return nil
		}
		running.Go(func() {
			defer func() { <-slots }()
			r.run(ctx, j)
		})
	}
}

// next waits for the oldest run in the queue; nil means that ctx is done.
func (r *Runner) next(ctx context.Context) *job {
	for {
		r.mu.Lock()
		if len(r.queue) > 0 {
			j := r.queue[0]
			r.queue = r.queue[1:]
			r.mu.Unlock()
			return j
		}
		r.mu.Unlock()
		select {
		case <-r.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// abandonQueue ends what never got compute.
func (r *Runner) abandonQueue(ctx context.Context) {
	r.mu.Lock()
	queue := r.queue
	r.queue = nil
	r.mu.Unlock()
	for _, j := range queue {
		r.run(ctx, j) // which sees that ctx is done
	}
}

// recover ends the runs of an earlier process (ledger SV-24). Their compute is
// the providers' to reap.
func (r *Runner) recover(ctx context.Context) error {
	for _, p := range r.o.Providers {
		if err := p.Reap(ctx); err != nil {
			return err
		}
	}
	unfinished, err := r.o.Records.UnfinishedRuns(ctx)
	if err != nil {
		return err
	}
	for _, run := range unfinished {
		if err := r.o.Boundaries.Close(ctx, sandboxID(run.ID)); err != nil {
			r.o.Log.Warn("close boundary of an interrupted run", "run", run.ID, "error", err)
		}
		run.Status, run.FailureCode, run.Message = Failed, FailProvision, messageInterrupted
		run.FinishedAt = r.now()
		if err := r.o.Records.SaveRun(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

// Start accepts a run and returns it queued. The record is saved with ctx, so
// that the caller can save its own with it. Faults: setup_run_in_flight with
// active_setup_run_id in its details, setup_run_limit with retry_after_seconds.
func (r *Runner) Start(ctx context.Context, q Request) (Run, error) {
	select {
	case <-r.recovered:
	case <-ctx.Done():
		return Run{}, fmt.Errorf("start setup run: %w", ctx.Err())
	}
	j := newJob(Run{
		ID: r.o.NewID(), OrganizationID: q.OrganizationID, EnvironmentID: q.EnvironmentID,
		Kind: q.Kind, SessionID: q.SessionID, RequestedBy: q.RequestedBy, Fingerprint: q.Fingerprint,
		Status: Queued, Phase: Provision, Message: "Waiting to start compute.", CreatedAt: r.now(),
	}, q.Definition)
	r.mu.Lock()
	err := r.admit(j)
	if err == nil {
		r.jobs[j.run.ID] = j
	}
	r.mu.Unlock()
	if err != nil {
		return Run{}, err
	}
	if err := r.o.Records.SaveRun(ctx, j.run); err != nil {
		r.mu.Lock()
		delete(r.jobs, j.run.ID)
		r.mu.Unlock()
		return Run{}, err
	}
	r.mu.Lock()
	r.queue = append(r.queue, j)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return j.snapshot(), nil
}

// admit checks the limits of runs in flight, for a caller that holds mu.
func (r *Runner) admit(j *job) error {
	manual := 0
	for _, other := range r.jobs {
		if other.run.Kind != Manual || j.run.Kind != Manual {
			continue // a session's run is bounded by its session
		}
		if other.run.EnvironmentID == j.run.EnvironmentID {
			e := fault.New(fault.SetupRunInFlight, "a setup run of this environment is in flight; wait for it, or cancel it")
			e.Details = map[string]any{"active_setup_run_id": other.run.ID}
			return e
		}
		if other.run.OrganizationID == j.run.OrganizationID {
			manual++
		}
	}
	if manual >= r.o.PerOrganization {
		e := fault.New(fault.SetupRunLimit, "%d setup runs of this organization are in flight, which is the most; wait for one to end", manual)
		e.Details = map[string]any{"retry_after_seconds": retryAfter}
		return e
	}
	return nil
}

// retryAfter is when to ask again for a run, in seconds.
const retryAfter = 10

// Cancel ends a run without a verdict and returns it once its compute is
// released. Faults: not_found, setup_run_finished.
func (r *Runner) Cancel(ctx context.Context, id string) (Run, error) {
	j := r.job(id)
	if j == nil {
		run, err := r.o.Records.Run(ctx, id)
		if err != nil {
			return Run{}, err
		}
		return run, finished(run)
	}
	j.cancel(errCancelled)
	select {
	case <-j.done:
	case <-ctx.Done():
		return j.snapshot(), fmt.Errorf("cancel setup run: %w", ctx.Err())
	}
	run := j.snapshot()
	if run.Status != Cancelled { // it had ended by itself
		return run, finished(run)
	}
	return run, nil
}

func finished(run Run) error {
	return fault.New(fault.SetupRunFinished, "the setup run has ended: it is %s", run.Status)
}

func (r *Runner) job(id string) *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs[id]
}

// Get returns a run as it is now. With a wait it returns when the run's status
// or phase differs from what it was at the call, when the run ends, or after
// the wait, whichever is first. Fault: not_found.
func (r *Runner) Get(ctx context.Context, id string, wait time.Duration) (Run, error) {
	j := r.job(id)
	if j == nil {
		return r.o.Records.Run(ctx, id)
	}
	first, changed := j.watch()
	j.wait(ctx, wait, changed, func(now Run) bool { return now.Status != first.Status || now.Phase != first.Phase })
	return j.snapshot(), nil
}

// Page is a part of a run's log.
type Page struct {
	Lines     []Line
	NextAfter int64 // the last line's Seq, or after when there is none
	Status    Status
	Truncated bool // output passed the bound: see Run.LogTruncated
}

// Log returns at most limit lines after the one of seq after. With a wait it
// returns when there is a line, when the run ends, or after the wait, whichever
// is first. Fault: not_found.
func (r *Runner) Log(ctx context.Context, id string, after int64, limit int, wait time.Duration) (Page, error) {
	var run Run
	if j := r.job(id); j != nil {
		_, changed := j.watch()
		j.wait(ctx, wait, changed, func(now Run) bool { return now.LogLines > after })
		run = j.snapshot()
	} else {
		var err error
		if run, err = r.o.Records.Run(ctx, id); err != nil {
			return Page{}, err
		}
	}
	lines, err := r.logs.read(id, after, limit)
	if err != nil {
		return Page{}, err
	}
	p := Page{Lines: lines, NextAfter: after, Status: run.Status, Truncated: run.LogTruncated}
	if n := len(lines); n > 0 {
		p.NextAfter = lines[n-1].Seq
	}
	return p, nil
}

// RemoveLog removes the log of a run whose record is gone.
func (r *Runner) RemoveLog(id string) error {
	if strings.ContainsAny(id, "/.") || id == "" {
		return fmt.Errorf("remove log: %q is not an id", id)
	}
	r.logs.forget(id)
	if err := os.Remove(logPath(r.o.LogDir, id)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove log: %w", err)
	}
	return nil
}
