package runs

import (
	"errors"
	"os"
	"sync"
)

// Provider starts sandboxes on this machine. It is safe for concurrent use.
type Provider struct {
	config    Config
	program   func() (*os.File, error) // the init, loaded once
	hostLayer func() (string, error)   // the bottom of the host image, as the host is when it is first asked for
	layers    layers

	worksMu sync.Mutex // guards what follows
	worked  bool       // Check has passed
}

// New returns a Provider for c. It does no I/O.
func New(c Config) (*Provider, error) {
	if c.StateDir == "" {
		return nil, errors.New("runs: StateDir is required")
	}
	return &Provider{
		config:  c,
		program: sync.OnceValues(func() (*os.File, error) { return openProgram(c) }),
		hostLayer: sync.OnceValues(func() (string, error) {
			owner, err := layerOwner()
			if err != nil {
				return "", err
			}
			return openHostLayer(c.StateDir, owner)
		}),
	}, nil
}

// Degraded says, one sentence each, what a Spec can ask for but this machine,
// or this user, can't have. Empty means that everything is enforced.
func (p *Provider) Degraded() []string {
	var all []string
	extent, whole, err := ownIDs()
	if err != nil {
		return []string{"It can't be told who may do what here: " + err.Error() + "."}
	}
	if !whole && extent < idCount {
		all = append(all, "Commands can't run as root of the sandbox: that needs a range of ids for you in /etc/subuid and /etc/subgid, and newuidmap.")
	}
	if !whole {
		all = append(all, "The disk of a sandbox isn't bounded: that needs loop devices, which are root's.")
	}
	h, err := findHierarchies()
	if err != nil {
		return append(all, "Limits aren't enforced: "+err.Error()+".")
	}
	for _, c := range controllers {
		if !h.limits(c) {
			all = append(all, "Limits of "+c+" aren't enforced: its cgroup controller isn't available to you.")
		}
	}
	return all
}
