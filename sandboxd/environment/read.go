package environment

import (
	"encoding/json"
	"fmt"

	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/strict"
)

// patch turns the API's spelling into settings, and refuses what the settings
// can't tell from a member that was left out.
func (b body) patch() (Patch, error) {
	p := Patch{
		Name:                      b.Name,
		Provider:                  b.Provider,
		Description:               b.Description,
		WorkspaceGiB:              b.WorkspaceGiB,
		NetworkPolicy:             b.NetworkPolicy,
		Privileged:                b.Privileged,
		ComputerUse:               b.ComputerUse,
		IdleStopAfterSeconds:      b.IdleStopAfterSeconds,
		StoppedDeleteAfterSeconds: b.StoppedDeleteAfterSeconds,
		EnvVars:                   b.EnvVars,
		Image:                     b.Image,
		Steps:                     b.Steps,
	}
	var err error
	if p.Resources, err = convert(b.Resources, resourcesBody.resources); err != nil {
		return Patch{}, err
	}
	if p.Setup, err = convert(b.Setup, setupBody.setup); err != nil {
		return Patch{}, err
	}
	if p.Mounts, err = convert(b.Mounts, readMounts); err != nil {
		return Patch{}, err
	}
	if p.BootSetup, err = convert(b.BootSetup, readBootSetup); err != nil {
		return Patch{}, err
	}
	if v, ok := b.Metadata.Get(); ok {
		p.Metadata = strict.Value(json.RawMessage(v.Clone()))
	} else if b.Metadata.IsNull() {
		p.Metadata = strict.Null[json.RawMessage]()
	}
	return p, nil
}

// convert keeps the state of a field and converts its value.
func convert[A, B any](f Field[A], to func(A) (B, error)) (Field[B], error) {
	value, ok := f.Get()
	switch {
	case f.IsNull():
		return strict.Null[B](), nil
	case !ok:
		return Field[B]{}, nil
	}
	converted, err := to(value)
	return strict.Value(converted), err
}

func (b resourcesBody) resources() (Resources, error) {
	r := Resources{CPUMilli: b.CPUMilli.Or(0), MemoryMiB: b.MemoryMiB.Or(0)}
	a, ok := b.Accelerator.Get()
	if !ok {
		return r, nil
	}
	const path = "resources.accelerator"
	r.Accelerator = &Accelerator{Type: a.Type.Or(acceleratorType), Count: a.Count.Or(1)}
	if r.Accelerator.Count == 0 {
		return r, fault.Invalid(path+".count", "must be 1, or be left out")
	}
	return r, required(&r.Accelerator.Name, a.Name, path, "name", "a GPU model")
}

func (b setupBody) setup() (Setup, error) {
	s := Setup{Script: b.Script.Or(""), TimeoutSeconds: b.TimeoutSeconds.Or(0)}
	if seconds, ok := b.TimeoutSeconds.Get(); ok && seconds == 0 {
		return s, timeoutError(0)
	}
	return s, nil
}

func readMounts(list []mountBody) ([]Mount, error) {
	mounts := make([]Mount, len(list))
	for i, m := range list {
		path := fmt.Sprintf("mounts[%d]", i)
		if err := required(&mounts[i].Source, m.Source, path, "source", "an HTTPS URL"); err != nil {
			return nil, err
		}
		if err := required(&mounts[i].Path, m.Path, path, "mount_path", "a path below /workspace"); err != nil {
			return nil, err
		}
	}
	return mounts, nil
}

func readBootSetup(list []bootStepBody) ([]BootStep, error) {
	steps := make([]BootStep, len(list))
	for i, b := range list {
		s, path := &steps[i], fmt.Sprintf("boot_setup[%d]", i)
		if err := required(&s.Name, b.Name, path, "name", "the step's name"); err != nil {
			return nil, err
		}
		if err := required(&s.Commands, b.Commands, path, "commands", "a list of commands"); err != nil {
			return nil, err
		}
		c, ok := b.Cache.Get()
		if !ok {
			continue
		}
		s.Cache = &Cache{Key: c.Key.Or(""), Files: c.Files.Or(nil)}
		if err := required(&s.Cache.Paths, c.Paths, path+".cache", "paths", "a list of directories"); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

func (b accessBody) access(sent Field[accessBody]) (*Access, error) {
	if _, ok := sent.Get(); !ok {
		return nil, nil
	}
	var a Access
	if err := required(&a.NetworkPolicy, b.NetworkPolicy, "expected_access", "network_policy", "the policy that you last read"); err != nil {
		return nil, err
	}
	return &a, required(&a.Privileged, b.Privileged, "expected_access", "privileged", "true or false")
}

// required stores the value of a member that must be there.
func required[T any](into *T, f Field[T], path, name, what string) error {
	value, ok := f.Get()
	switch {
	case f.IsNull():
		return fault.Invalid(path+"."+name, "expected %s, found null", what)
	case !ok:
		return fault.Invalid(path+"."+name, "is missing; expected %s", what)
	}
	*into = value
	return nil
}
