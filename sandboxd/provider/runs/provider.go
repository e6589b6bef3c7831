package runs

import (
	"errors"
	"os"
	"sync"
)

// Provider starts sandboxes on this machine. It is safe for concurrent use.
type Provider struct {
	config  Config
	program func() (*os.File, error) // the init, loaded once
}

// New returns a Provider for c. It does no I/O.
func New(c Config) (*Provider, error) {
	if c.StateDir == "" {
		return nil, errors.New("runs: StateDir is required")
	}
	return &Provider{
		config:  c,
		program: sync.OnceValues(func() (*os.File, error) { return openProgram(c) }),
	}, nil
}

// Degraded says, one sentence each, what is asked for in a Spec but not
// enforced on this machine, for the operator to read.
func (p *Provider) Degraded() []string { return nil }
