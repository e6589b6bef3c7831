package runs

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider"
)

// Name is what an environment's provider field holds for this package.
const Name = "runs"

// Contract is a Provider as sandboxd sees it: a [provider.Provider] that has
// [provider.Layers].
type Contract struct{ *Provider }

var (
	_ provider.Provider = Contract{}
	_ provider.Layers   = Contract{}
	_ provider.Network  = (*Network)(nil)
	_ provider.Written  = (*Written)(nil)
	_ provider.Process  = (*Process)(nil)
)

// Describe says whether sandboxes work here, which it tries until they do.
func (c Contract) Describe(ctx context.Context) provider.Description {
	d := provider.Description{
		Name: Name, DisplayName: "Agent runner",
		Text: "Managed Linux compute with a persistent workspace, CPU and memory sizing, network policy, idle stop, setup verification, and a reusable setup image.",
	}
	if err := c.works(ctx); err != nil {
		d.Reason = err.Error()
		return d
	}
	d.Available = true
	d.Degraded = c.Degraded()
	d.Capabilities = []provider.Capability{provider.NetworkPolicy, provider.Capture, provider.Terminal}
	extent, whole, err := ownIDs()
	if err == nil && (whole || extent >= idCount) {
		d.Capabilities = append(d.Capabilities, provider.Root)
	}
	if whole {
		d.Capabilities = append(d.Capabilities, provider.Disk)
	}
	h, err := findHierarchies()
	if err != nil {
		return d
	}
	for _, controller := range controllers {
		if !h.limits(controller) {
			return d
		}
	}
	d.Capabilities = append(d.Capabilities, provider.Limited)
	return d
}

// works checks the machine until it has passed once.
func (p *Provider) works(ctx context.Context) error {
	p.worksMu.Lock()
	defer p.worksMu.Unlock()
	if p.worked {
		return nil
	}
	if err := p.Check(ctx); err != nil {
		return err
	}
	p.worked = true
	return nil
}

// Network prepares a network.
func (c Contract) Network(ctx context.Context) (provider.Network, error) {
	n, err := c.Provider.Network(ctx)
	if err != nil {
		return nil, capacity(err)
	}
	return n, nil
}

// Listeners returns the sockets.
func (n *Network) Listeners() []provider.Listener {
	return []provider.Listener{
		{Kind: provider.Proxy, Socket: n.Proxy},
		{Kind: provider.Transparent, Socket: n.Transparent},
		{Kind: provider.DNS, Socket: n.DNS},
		{Kind: provider.Broker, Socket: n.Broker},
	}
}

// ProxyURL is the explicit proxy as the sandbox names it.
func (n *Network) ProxyURL() string { return "http://" + ProxyAddr }

// Start starts a sandbox.
func (c Contract) Start(ctx context.Context, s provider.Spec) (provider.Sandbox, error) {
	n, ok := s.Network.(*Network)
	if !ok {
		return nil, fmt.Errorf("start sandbox: a network of provider %s is required", Name)
	}
	image := NoBase
	if s.Image.Host {
		image = "host"
	}
	sb, err := c.Provider.Start(ctx, Spec{
		ID: s.ID, Network: n, Image: image, Layers: s.Image.Layers,
		DiskBytes: s.DiskBytes, Files: s.Files, Limits: s.Limits,
	})
	if err != nil {
		return nil, capacity(err)
	}
	return contractSandbox{sb}, nil
}

// capacity marks errors that mean that the machine is full.
func capacity(err error) error {
	for _, full := range []error{unix.ENOSPC, unix.ENOMEM, unix.EAGAIN, unix.EMFILE, unix.ENFILE, unix.EDQUOT} {
		if errors.Is(err, full) {
			return fmt.Errorf("%w: %w", provider.ErrCapacity, err)
		}
	}
	return err
}

type contractSandbox struct{ *Sandbox }

func (s contractSandbox) Exec(ctx context.Context, e provider.Exec) (provider.Process, error) {
	p, err := s.Sandbox.Exec(ctx, e)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (s contractSandbox) Capture(ctx context.Context) (provider.Written, error) {
	w, err := s.Sandbox.Capture(ctx)
	if err != nil {
		return nil, err
	}
	return w, nil
}
