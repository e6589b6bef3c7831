package setup

import (
	"context"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/provider"
)

// Records keeps runs. It is safe for concurrent use.
type Records interface {
	// SaveRun adds the run or replaces the one of its id. A Runner never saves
	// a run again after it was saved with a terminal status.
	SaveRun(ctx context.Context, run Run) error
	// Run returns the run of an id; a fault with code not_found if there is
	// none.
	Run(ctx context.Context, id string) (Run, error)
	// UnfinishedRuns returns the runs whose status isn't terminal.
	UnfinishedRuns(ctx context.Context) ([]Run, error)
}

// A Boundary is what Boundaries.Open opens.
type Boundary struct {
	ID      string
	Policy  policy.Document
	Labels  map[string]string // copied into each audit record
	Network provider.Network
	Image   provider.Image // that its sandbox starts on
}

// Access is what a sandbox needs to use its boundary.
type Access struct {
	Env   map[string]string        // proxy, trust and placeholders, by variable
	Files map[string]provider.File // that Env points to, and trust stores
	// Secrets are what no image and no log may hold, such as the placeholders.
	Secrets []string
}

// Boundaries opens and closes the way out of sandboxes.
type Boundaries interface {
	Open(ctx context.Context, b Boundary) (Access, error)
	// Close closes a boundary; one that isn't open is no error.
	Close(ctx context.Context, id string) error
}

// Images finds what a run starts on and keeps what it made. *image.Keeper is
// one.
type Images interface {
	// Resolve returns the stack that an environment's image field names; empty
	// is the service's runner image. Its record has the id that a captured
	// image refers to.
	Resolve(ctx context.Context, name string) (image.Image, provider.Image, error)
	// Capture makes an image of what the sandbox wrote. The error's text is
	// for the run's author.
	Capture(ctx context.Context, sandbox provider.Sandbox, c image.Capture) (image.Image, error)
}

// Mounts fetches the files that an environment mounts, not through the
// sandbox's boundary but from the machine. Its error's text is for the run's
// author.
type Mounts interface {
	Fetch(ctx context.Context, m environment.Mount) ([]byte, error)
}
