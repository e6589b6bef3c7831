package machine

import "slices"

// A Size is an amount of compute.
type Size struct {
	CPUMilli  int64 // thousandths of a CPU
	MemoryMiB int64
}

// The smallest size, and the steps and the largest size that consoles offer.
// Larger sizes can be asked for by number.
const (
	MinCPUMilli  = 250
	MinMemoryMiB = 1024

	StepCPUMilli  = 250
	StepMemoryMiB = 1024
	MaxCPUMilli   = 8000
	MaxMemoryMiB  = 32768
)

// AcceleratorSize returns the size of every sandbox with a GPU.
func AcceleratorSize() Size { return Size{CPUMilli: 8000, MemoryMiB: 32768} }

// A Shortcut is a size with a name.
type Shortcut struct {
	Name string
	Size Size
}

// Shortcuts returns the named sizes, the smallest first (ledger GR-5). The
// caller owns the slice.
func Shortcuts() []Shortcut {
	return []Shortcut{
		{"Light", Size{1000, 2048}},
		{"Standard", Size{2000, 4096}},
		{"Heavy", Size{4000, 8192}},
		{"Max", Size{8000, 32768}},
	}
}

// Default is the size of a sandbox whose environment doesn't say: Standard, or
// the largest smaller thing that a machine enforcing policies has.
func (c Catalogue) Default() Size {
	open := c.open(true)
	if len(open) == 0 {
		open = c
	}
	standard := Shortcuts()[1].Size
	var best Size
	for _, m := range open {
		here := Size{min(m.CPUMilli, standard.CPUMilli), min(m.MemoryMiB, standard.MemoryMiB)}
		if here.CPUMilli > best.CPUMilli || here.CPUMilli == best.CPUMilli && here.MemoryMiB > best.MemoryMiB {
			best = here
		}
	}
	return best
}

// Resolve returns the size that a sandbox with that need gets: what it asked
// for, defaults for what it left to the service, and always [AcceleratorSize]
// with a GPU. The error is that of [Catalogue.Fit].
func (c Catalogue) Resolve(n Need) (Size, error) {
	if err := c.Fit(n); err != nil {
		return Size{}, err
	}
	if n.Accelerator != "" {
		return AcceleratorSize(), nil
	}
	standard := c.Default()
	got := n.Size
	if got.CPUMilli == 0 {
		got.CPUMilli = standard.CPUMilli
	}
	if got.MemoryMiB == 0 {
		got.MemoryMiB = standard.MemoryMiB
	}
	open := c.open(n.Restricted)
	if slices.ContainsFunc(open, func(m Machine) bool { return fits(m, got) }) {
		return got, nil
	}
	// A default must not push out what was asked for: it yields to the first
	// machine that has the rest.
	i := slices.IndexFunc(open, func(m Machine) bool { return fits(m, n.Size) })
	return Size{min(got.CPUMilli, open[i].CPUMilli), min(got.MemoryMiB, open[i].MemoryMiB)}, nil
}
