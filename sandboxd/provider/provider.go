package provider

import (
	"context"
	"errors"
	"slices"
)

// Errors that callers branch on.
var (
	// ErrCapacity: the machine has no room for one more sandbox now.
	ErrCapacity = errors.New("no capacity for another sandbox")
	// ErrLayerMissing: a layer of the image isn't there.
	ErrLayerMissing = errors.New("layer is missing")
	// ErrLayerInUse: a sandbox uses the layer that was to be removed.
	ErrLayerInUse = errors.New("layer is in use")
	// ErrStopped: the sandbox has ended.
	ErrStopped = errors.New("the sandbox has ended")
	// ErrLost: the sandbox ended before the command did.
	ErrLost = errors.New("the sandbox ended before the command did")
	// ErrUnsupported: the provider doesn't have the capability.
	ErrUnsupported = errors.New("capability is not supported")
)

// Provider isolates sandboxes. It is safe for concurrent use.
type Provider interface {
	// Describe says what the provider is and whether it works here. It may try
	// the machine out the first time.
	Describe(ctx context.Context) Description
	// Check says what this machine lacks and what to do about it.
	Check(ctx context.Context) error
	// Network opens the sockets of a sandbox that is to be started. The caller
	// closes it when the sandbox has ended.
	Network(ctx context.Context) (Network, error)
	// Start starts the sandbox that s describes and returns once it takes
	// commands. When it returns an error nothing is left of it, but for
	// s.Network. Errors: ErrCapacity, ErrLayerMissing, ErrUnsupported.
	Start(ctx context.Context, s Spec) (Sandbox, error)
	// Reap removes what a dead process of ours left. It belongs at the start of
	// a program.
	Reap(ctx context.Context) error
}

// Capability is something that not every provider has.
type Capability string

// The capabilities.
const (
	NetworkPolicy Capability = "network_policy" // nothing leaves but by Network
	Capture       Capability = "capture"        // layers: Layers and Sandbox.Capture
	Disk          Capability = "disk"           // Spec.DiskBytes is enforced
	Limited       Capability = "limits"         // Spec.Limits are enforced
	Root          Capability = "root"           // commands can run as root of the sandbox
	Terminal      Capability = "terminal"       // Exec.TTY
	Privileged    Capability = "privileged"     // containers inside the sandbox
	GPU           Capability = "gpu"            // accelerators
	ComputerUse   Capability = "computer_use"   // a browser display
	Drives        Capability = "drives"         // named volumes
)

// Description is what a provider says of itself.
type Description struct {
	Name        string // what an environment's provider field holds
	DisplayName string
	Text        string // one sentence for people
	Available   bool
	Reason      string // why it isn't available; empty when it is
	// Degraded says, one sentence each, what can be asked for but isn't
	// enforced on this machine.
	Degraded     []string
	Capabilities []Capability
}

// Has reports whether the provider has c.
func (d Description) Has(c Capability) bool { return slices.Contains(d.Capabilities, c) }
