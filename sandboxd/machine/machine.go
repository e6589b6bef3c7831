// Package machine is the catalogue of the sizes that sandboxes can have.
package machine

// A Machine is one kind of compute on offer.
type Machine struct {
	Name      string
	CPUMilli  int64
	MemoryMiB int64
	// Enforces says that the machine enforces a network policy. Only such
	// machines take environments that aren't unrestricted.
	Enforces     bool
	Accelerators []string // GPU models
}

// A Catalogue is all that is on offer.
type Catalogue []Machine
