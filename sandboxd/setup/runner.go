package setup

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/provider"
)

// Options of a Runner. Providers, Boundaries, Images, Records and LogDir are
// required.
type Options struct {
	Providers  map[string]provider.Provider // by name
	Boundaries Boundaries
	Images     Images
	Records    Records
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
	// NewID returns the id of a new run; nil means srun_ and random letters.
	NewID func() string
	Log   *slog.Logger // nil means none
	Clock func() time.Time
}

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
	o Options
}

// NewRunner returns a Runner, which accepts runs once it serves.
func NewRunner(o Options) (*Runner, error) { return &Runner{o: o}, nil }

// Serve ends what an earlier process left unfinished, then runs what Start
// accepts until ctx is done. Then it cancels nothing: runs in flight are ended
// as interrupted, their compute is released, and Serve returns nil.
func (r *Runner) Serve(ctx context.Context) error { return errors.ErrUnsupported }

// Start accepts a run and returns it queued. Faults: setup_run_in_flight with
// active_setup_run_id in its details, setup_run_limit with retry_after_seconds.
func (r *Runner) Start(ctx context.Context, q Request) (Run, error) {
	return Run{}, errors.ErrUnsupported
}

// Cancel ends a run without a verdict and returns it once its compute is
// released. Fault: setup_run_finished.
func (r *Runner) Cancel(ctx context.Context, id string) (Run, error) {
	return Run{}, errors.ErrUnsupported
}

// Get returns a run as it is now. With a wait it returns when the run's status
// or phase differs from what it was at the call, when the run ends, or after
// the wait, whichever is first.
func (r *Runner) Get(ctx context.Context, id string, wait time.Duration) (Run, error) {
	return Run{}, errors.ErrUnsupported
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
// is first.
func (r *Runner) Log(ctx context.Context, id string, after int64, limit int, wait time.Duration) (Page, error) {
	return Page{}, errors.ErrUnsupported
}
