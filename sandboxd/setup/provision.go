package setup

import (
	"context"
	"errors"
	"maps"
	"path"

	"github.com/sallyport/sallyport/sandboxd/provider"
)

// provision starts fresh compute. Its boundary is open before anything runs.
func (a *attempt) provision(ctx context.Context) error {
	d := a.j.definition
	p := a.r.o.Providers[d.Provider]
	if p == nil {
		return failed(FailConfiguration, nil, "There is no provider %q.", d.Provider)
	}
	if err := a.possible(ctx, p); err != nil {
		return err
	}
	limits, err := a.limits()
	if err != nil {
		return failed(FailConfiguration, err, "No machine offers the size that the environment asks for.")
	}
	on, stack, err := a.r.o.Images.Resolve(ctx, d.Image)
	if err != nil {
		return provisionFailure(ctx, err)
	}
	a.on = on
	mounts, err := a.fetchMounts(ctx)
	if err != nil {
		return err
	}
	starting, cancel := context.WithTimeout(ctx, a.r.o.ProvisionTimeout)
	defer cancel()
	if err := a.start(starting, p, provider.Spec{
		ID: sandboxID(a.j.run.ID), Image: stack, DiskBytes: a.diskBytes(), Limits: limits,
	}); err != nil {
		return err
	}
	a.log.system("Compute is ready: image %s.", a.on.ID)
	return a.placeMounts(starting, mounts)
}

// possible refuses what the provider can't do, before anything is started.
func (a *attempt) possible(ctx context.Context, p provider.Provider) error {
	d, about := a.j.definition, p.Describe(ctx)
	switch {
	case !about.Available:
		return failed(FailProvision, errors.New(about.Reason), "The provider %q doesn't work on this machine.", about.Name)
	case d.Privileged && !about.Has(provider.Privileged):
		return failed(FailPrivileged, nil, "The provider %q can't run privileged sandboxes on this machine.", about.Name)
	case d.Resources.Accelerator != nil && !about.Has(provider.GPU):
		return failed(FailGPU, nil, "The provider %q has no accelerators.", about.Name)
	case !d.NetworkPolicy.Unrestricted && !about.Has(provider.NetworkPolicy):
		return failed(FailConfiguration, nil, "The provider %q can't enforce a network policy.", about.Name)
	}
	return nil
}

func (a *attempt) start(ctx context.Context, p provider.Provider, s provider.Spec) error {
	network, err := p.Network(ctx)
	if err != nil {
		return provisionFailure(ctx, err)
	}
	a.network, s.Network = network, network
	// What was sent may have been carried out even when the answer is an error.
	a.opened = true
	a.access, err = a.r.o.Boundaries.Open(ctx, Boundary{
		ID: s.ID, Policy: a.j.definition.NetworkPolicy, Labels: a.labels(), Network: network, Image: s.Image,
	})
	if err != nil {
		return provisionFailure(ctx, err)
	}
	s.Files = maps.Clone(a.access.Files)
	if s.Files == nil {
		s.Files = make(map[string]provider.File)
	}
	a.scriptFiles(s.Files)
	if a.sandbox, err = p.Start(ctx, s); err != nil {
		a.sandbox = nil
		return provisionFailure(ctx, err)
	}
	return nil
}

// fetched is a mounted file.
type fetched struct {
	path string // relative to the workspace
	data []byte
}

func (a *attempt) fetchMounts(ctx context.Context) ([]fetched, error) {
	var all []fetched
	for _, m := range a.j.definition.Mounts {
		if a.r.o.Mounts == nil {
			return nil, failed(FailMount, nil, "Mounts can't be fetched on this machine.")
		}
		data, err := a.r.o.Mounts.Fetch(ctx, m)
		if err != nil {
			return nil, failed(FailMount, err, "The mount %s couldn't be fetched: %s.", m.Path, err)
		}
		all = append(all, fetched{m.Path, data})
	}
	return all, nil
}

// placeMounts writes the files as the sandbox's user, by a command inside the
// sandbox: whatever links an image has lead nowhere else.
func (a *attempt) placeMounts(ctx context.Context, all []fetched) error {
	for _, f := range all {
		const write = `mkdir -p -- "$(dirname -- "$1")" && rm -rf -- "$1" && cat >"$1"`
		r, err := a.command(ctx, f.data, "sh", "-c", write, "sh", path.Join(workspace, f.path))
		if err != nil {
			return provisionFailure(ctx, err)
		}
		if r.exit.Code != 0 {
			return failed(FailMount, errors.New(r.stderr), "The mount %s couldn't be written: %s", f.path, r.stderr)
		}
	}
	return nil
}
