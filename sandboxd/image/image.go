// Package image knows the root file systems that sandboxes start from: the
// host's own, the runner image, and what setup runs captured.
//
// An image is a stack of layers, each a directory or an archive named by its
// content. The package keeps their records and collects those that nothing
// refers to; providers turn a stack into a root.
//
// Security promise: a capture that finds a credential, a placeholder or a token
// in a layer fails, and the layer is removed.
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
	State          State
	Layers         []string // content keys, lowest first
	SizeBytes      int64
	Tools          []string // for the service's own: what it declares to have
	CreatedAt      time.Time
}
