package runs

import (
	"context"
	"errors"
)

// ErrNotBuilt is returned by Check and Start when the program was built
// without the init that runs inside a sandbox.
var ErrNotBuilt = errors.New("built without its init: run make build")

// Provider starts sandboxes on this machine. It is safe for concurrent use.
type Provider struct {
	config Config
}

// New returns a Provider for c. It does no I/O.
func New(c Config) (*Provider, error) {
	if c.StateDir == "" {
		return nil, errors.New("runs: StateDir is required")
	}
	return &Provider{config: c}, nil
}

// Check says whether this machine can run sandboxes; its error names
// everything that is missing and what to do about it.
func (p *Provider) Check(ctx context.Context) error { return ErrNotBuilt }

// Degraded says, one sentence each, what is asked for in a Spec but not
// enforced on this machine, for the operator to read.
func (p *Provider) Degraded() []string { return nil }

// Reap removes the sandboxes in StateDir whose owner is dead.
func (p *Provider) Reap(ctx context.Context) error { return ErrNotBuilt }

// Network prepares a network namespace and opens the sockets in it.
func (p *Provider) Network(ctx context.Context) (*Network, error) { return nil, ErrNotBuilt }

// Close closes the sockets and lets go of the namespace.
func (n *Network) Close() error { return nil }

// Start starts the sandbox that s describes.
func (p *Provider) Start(ctx context.Context, s Spec) (*Sandbox, error) { return nil, ErrNotBuilt }
