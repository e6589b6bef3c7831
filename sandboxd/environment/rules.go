package environment

import "github.com/sallyport/sallyport/sandboxd/machine"

// Rules are what a service has to offer, against which definitions are checked.
type Rules struct {
	Providers []Provider
	// RunnerImages are the ids of the service's own images, which are the only
	// ones that a definition may name.
	RunnerImages []string
}

// A Provider is one runtime and what it can do. The zero value but for a name
// runs plain sandboxes only, and of no size.
type Provider struct {
	Name        string
	Machines    machine.Catalogue
	Privileged  bool // containers inside the sandbox
	ComputerUse bool // a browser display
	Steps       bool // images with build steps
	BootSetup   bool // command groups at every boot
}

func (r Rules) provider(name string) (Provider, bool) {
	for _, p := range r.Providers {
		if p.Name == name {
			return p, true
		}
	}
	return Provider{}, false
}
