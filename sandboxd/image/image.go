package image

import "time"

// State of an image as the start of a session sees it.
type State string

// The states. The zero value is unknown, which starts nothing.
const (
	Usable  State = "usable"
	Missing State = "missing"
	Failed  State = "failed"
	Unknown State = "unknown"
)

// An Image is the record of one captured or built image.
type Image struct {
	ID             string // img_…
	OrganizationID string // empty: the service's own
	EnvironmentID  string // empty: the service's own
	Fingerprint    string // of the configuration that it was captured from
	RunnerID       string // the image that it was captured on
	Provider       string // whose layers it consists of
	State          State
	Host           bool     // the machine's own programs are below the layers
	Layers         []string // content keys, lowest first
	SizeBytes      int64    // of what it adds to the image that it was captured on
	Recipe         string   // content key of what it was built by; empty: it was captured
	Tools          []string // for the service's own: what it declares to have
	Missing        []string // for the service's own: what it should have but hasn't
	CreatedAt      time.Time
}

// Capture says what an image is captured for. All but Secrets are required.
type Capture struct {
	OrganizationID string
	EnvironmentID  string
	Fingerprint    string
	On             Image    // what the sandbox started on
	Secrets        []string // that it must not hold, besides every shape of a token
}

// RefusedError says why what a sandbox wrote makes no image: the author may
// read it, and it holds no secret.
type RefusedError struct {
	Path string // inside the sandbox
	Kind string // of what was found
}

func (e *RefusedError) Error() string {
	return "it would hold a credential (" + e.Kind + ") in " + e.Path + ". Remove it at the end of the script."
}
