// Package machine is the catalogue of the sizes that sandboxes can have.
//
// A size fits when one machine offers its CPU and its memory together; an
// environment whose network policy restricts anything only fits machines that
// enforce policies. The package is pure: whoever starts the service says what
// there is, and package environment asks whether a definition fits it.
package machine

import (
	"fmt"
	"slices"
	"strings"
)

// A Machine is one kind of compute on offer.
type Machine struct {
	Name      string
	CPUMilli  int64 // thousandths of a CPU
	MemoryMiB int64
	// Enforces says that the machine enforces a network policy. Only such
	// machines take environments that aren't unrestricted.
	Enforces     bool
	Accelerators []string // GPU models
}

// A Catalogue is all that is on offer.
type Catalogue []Machine

// Local is the catalogue of the one machine that the service runs on, which
// enforces network policies and has no accelerator on offer.
func Local(cpuMilli, memoryMiB int64) Catalogue {
	return Catalogue{{Name: "local", CPUMilli: cpuMilli, MemoryMiB: memoryMiB, Enforces: true}}
}

// A Need is what a sandbox asks of its machine.
type Need struct {
	Size               // zero members: no matter how much
	Restricted  bool   // a network policy must be enforced
	Accelerator string // GPU model; empty: none
}

// ceiling is the largest machine on its own measure: most CPU, and most memory
// among machines with at least cpu.
func (c Catalogue) ceiling(cpu int64) Size {
	var most Size
	for _, m := range c {
		most.CPUMilli = max(most.CPUMilli, m.CPUMilli)
		if m.CPUMilli >= cpu {
			most.MemoryMiB = max(most.MemoryMiB, m.MemoryMiB)
		}
	}
	return most
}

// open returns the machines that may take a sandbox whose policy is restricted,
// or any sandbox.
func (c Catalogue) open(restricted bool) Catalogue {
	return slices.DeleteFunc(slices.Clone(c), func(m Machine) bool { return restricted && !m.Enforces })
}

// Models returns the GPU models on offer, sorted: those of machines that
// enforce a policy only, when restricted.
func (c Catalogue) Models(restricted bool) []string {
	models := []string{}
	for _, m := range c.open(restricted) {
		if fits(m, AcceleratorSize()) {
			models = append(models, m.Accelerators...)
		}
	}
	slices.Sort(models)
	return slices.Compact(models)
}

func fits(m Machine, s Size) bool { return m.CPUMilli >= s.CPUMilli && m.MemoryMiB >= s.MemoryMiB }

// A Misfit says why no machine takes a sandbox and what the limit is.
type Misfit struct {
	Part    Part
	Details map[string]any // the limit, by name
	message string
}

// Part is the part of a [Need] that fits no machine.
type Part uint8

// The parts.
const (
	CPU Part = iota
	Memory
	Accelerator
)

func (m *Misfit) Error() string { return m.message }

// Fit returns nil when one machine takes the sandbox, or a *Misfit whose
// message names what is available (ledger GR-2, GR-3, GR-6).
func (c Catalogue) Fit(n Need) error {
	if n.Accelerator != "" {
		return c.fitAccelerator(n)
	}
	open := c.open(n.Restricted)
	if slices.ContainsFunc(open, func(m Machine) bool { return fits(m, n.Size) }) {
		return nil
	}
	most := open.ceiling(n.CPUMilli)
	switch {
	case len(open) == 0:
		return &Misfit{Part: CPU, message: "no machine is on offer" + because(n.Restricted),
			Details: map[string]any{"max_cpu_milli": int64(0), "max_memory_mib": int64(0)}}
	case most.CPUMilli < n.CPUMilli:
		// The most memory says nothing at a CPU size that nothing has.
		most = open.ceiling(most.CPUMilli)
		return &Misfit{Part: CPU,
			message: fmt.Sprintf("no machine has %d millicores%s; the most available is %d millicores, with up to %d MiB of memory",
				n.CPUMilli, because(n.Restricted), most.CPUMilli, most.MemoryMiB),
			Details: map[string]any{"max_cpu_milli": most.CPUMilli, "max_memory_mib": most.MemoryMiB}}
	}
	return &Misfit{Part: Memory,
		message: fmt.Sprintf("no machine has %d MiB of memory%s%s; the most available there is %d MiB",
			n.MemoryMiB, at(n.CPUMilli), because(n.Restricted), most.MemoryMiB),
		Details: map[string]any{"max_cpu_milli": most.CPUMilli, "max_memory_mib": most.MemoryMiB}}
}

func (c Catalogue) fitAccelerator(n Need) error {
	models := c.Models(n.Restricted)
	if slices.Contains(models, n.Accelerator) {
		return nil
	}
	available := "none"
	if len(models) > 0 {
		available = strings.Join(models, ", ")
	}
	return &Misfit{Part: Accelerator,
		message: fmt.Sprintf("the model %q isn't offered%s; available models: %s", n.Accelerator, because(n.Restricted), available),
		Details: map[string]any{"available_models": models}}
}

func because(restricted bool) string {
	if restricted {
		return " under a restricted network policy"
	}
	return ""
}

func at(cpu int64) string {
	if cpu == 0 {
		return ""
	}
	return fmt.Sprintf(" at %d millicores", cpu)
}
