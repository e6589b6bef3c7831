package environment

import (
	"errors"

	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/machine"
)

const acceleratorType = "gpu"

// Need is what a sandbox of d asks of its machine.
func (d Definition) Need() machine.Need {
	n := machine.Need{
		Size:       machine.Size{CPUMilli: d.Resources.CPUMilli, MemoryMiB: d.Resources.MemoryMiB},
		Restricted: !d.NetworkPolicy.Unrestricted,
	}
	if a := d.Resources.Accelerator; a != nil {
		n.Accelerator = a.Name
	}
	return n
}

// checkSizes is ledger GR-1.
func checkSizes(d Definition, _ Rules) error {
	for _, s := range []struct {
		path       string
		value, min int64
	}{
		{"resources.cpu_milli", d.Resources.CPUMilli, machine.MinCPUMilli},
		{"resources.memory_mib", d.Resources.MemoryMiB, machine.MinMemoryMiB},
	} {
		if s.value != 0 && s.value < s.min {
			return fault.Invalid(s.path, "is %d; it must be at least %d, or 0 for the default", s.value, s.min)
		}
	}
	return nil
}

// checkAccelerator is ledger GR-6 and GR-7 but for what is on offer.
func checkAccelerator(d Definition, _ Rules) error {
	a := d.Resources.Accelerator
	if a == nil {
		return nil
	}
	size := machine.AcceleratorSize()
	const always = "can't be set together with an accelerator: such a sandbox always has %d; leave it out"
	switch {
	case a.Type != acceleratorType:
		return fault.Invalid("resources.accelerator.type", "is %q; it must be %q", a.Type, acceleratorType)
	case a.Name == "":
		return fault.Invalid("resources.accelerator.name", "is required: a GPU model")
	case a.Count != 1:
		return fault.Invalid("resources.accelerator.count", "is %d; it must be 1, or be left out", a.Count)
	case d.Resources.CPUMilli != 0:
		return fault.Invalid("resources.cpu_milli", always, size.CPUMilli)
	case d.Resources.MemoryMiB != 0:
		return fault.Invalid("resources.memory_mib", always, size.MemoryMiB)
	case d.Image != "":
		return fault.Invalid("image", "can't be set together with an accelerator; leave it out")
	}
	return nil
}

// checkFit is ledger GR-2, GR-3 and the offer of GR-6.
func checkFit(d Definition, r Rules) error {
	p, ok := r.provider(d.Provider)
	if !ok || d.Resources == (Resources{}) {
		return nil
	}
	err := p.Machines.Fit(d.Need())
	var misfit *machine.Misfit
	if !errors.As(err, &misfit) {
		return err
	}
	e := fault.Invalid(partPath(misfit.Part), "%s", misfit.Error())
	e.Details = misfit.Details
	return e
}

func partPath(p machine.Part) string {
	switch p {
	case machine.Memory:
		return "resources.memory_mib"
	case machine.Accelerator:
		return "resources.accelerator.name"
	case machine.CPU:
	}
	return "resources.cpu_milli"
}
