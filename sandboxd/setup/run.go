package setup

import "time"

// Status of a run. Terminal ones never change.
type Status string

// The statuses, in the order in which a run has them.
const (
	Queued       Status = "queued"
	Provisioning Status = "provisioning"
	Running      Status = "running"
	Succeeded    Status = "succeeded"
	Failed       Status = "failed"
	Cancelled    Status = "cancelled"
)

// Terminal reports whether s is the end of a run.
func (s Status) Terminal() bool { return s == Succeeded || s == Failed || s == Cancelled }

// Kind says on whose behalf a run happens.
type Kind string

// The kinds.
const (
	Manual  Kind = "manual"  // somebody asked for a verdict
	Session Kind = "session" // a session ran setup on its own compute
)

// Phase is a step of a run.
type Phase string

// The phases, in order.
const (
	Provision Phase = "provision"
	GPUCheck  Phase = "gpu_check"
	Script    Phase = "setup"
	Profile   Phase = "profile"
	Commit    Phase = "commit"
	Cleanup   Phase = "cleanup"
)

// A Run is the record of one run.
type Run struct {
	ID             string // srun_…
	OrganizationID string
	EnvironmentID  string
	Kind           Kind
	SessionID      string // only of Kind Session
	Status         Status
	Phase          Phase
	RequestedBy    string // user id, of Kind Manual

	// Fingerprint of the configuration that the run tests.
	Fingerprint string
	// ImageID is the image that the run captured, empty when it has none;
	// ImageError says why saving it failed.
	ImageID    string
	ImageError string

	ExitCode      *int // nil: the script never started
	FailedLine    int  // one-based; 0: unknown
	FailedCommand string
	StderrTail    string // redacted, at most 2 KiB
	HintCode      string
	Hint          string
	Message       string // one sentence: the outcome
	FailureCode   string // empty: it didn't fail

	CreatedAt, StartedAt, FinishedAt time.Time // zero: not yet

	LogLines     int64 // the last line's sequence number
	LogBytes     int64
	LogTruncated bool
}

// Stream says where a line of the log comes from.
type Stream string

// The streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
	Marker Stream = "marker" // the script's line that is about to run
	System Stream = "system" // outside the script
)

// A Line of a run's log.
type Line struct {
	Seq    int64 // from 1, without gaps
	Stream Stream
	Line   int // of the script, one-based; 0: unknown
	Text   string
	At     time.Time
}
