package diff

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sallyport/sallyport/policy"
)

// Holdings are what a sandbox holds beside its policy.
type Holdings struct {
	Bindings []Binding
	Grants   []Grant
}

// Binding is a secret that is sent to one host.
type Binding struct {
	Name string
	Host policy.Host
	Port uint16
}

// Grant is access to a repository on a git host.
type Grant struct {
	Repository string
	Host       policy.Host
	Write      bool
}

// Effect is what a change means for one secret or repository.
type Effect struct {
	Direction Direction
	Secret    string // of a binding
	// Repository and Write are of a grant.
	Repository string
	Write      bool
	Host       policy.Host
	Port       uint16 // of a binding
}

// String is the effect as a sentence without a full stop.
func (e Effect) String() string {
	verb := "no longer "
	if e.Direction == Widening {
		verb = "now "
	}
	if e.Secret != "" {
		return fmt.Sprintf("secret %s %stravels to %s:%d", e.Secret, verb, e.Host, e.Port)
	}
	able := "readable"
	if e.Write {
		able = "writable"
	}
	is := "is " + verb
	return fmt.Sprintf("repository %s %s%s through %s", e.Repository, is, able, e.Host)
}

// Radius says which secrets and repositories a change of policy, of holdings
// or of both brings into use or out of it: a binding or grant counts only
// where the policy allows its host (a binding never opens one). Widenings come
// first. The error is that of [policy.Compile].
func Radius(before, after policy.Document, held, holds Holdings) ([]Effect, error) {
	was, err := inUse(before, held)
	if err != nil {
		return nil, err
	}
	is, err := inUse(after, holds)
	if err != nil {
		return nil, err
	}
	var effects []Effect
	for e := range is {
		if !was[e] {
			e.Direction = Widening
			effects = append(effects, e)
		}
	}
	for e := range was {
		if !is[e] {
			effects = append(effects, e)
		}
	}
	slices.SortFunc(effects, func(a, b Effect) int {
		return cmp.Or(-cmp.Compare(a.Direction, b.Direction), cmp.Compare(a.String(), b.String()))
	})
	return effects, nil
}

// inUse returns what a policy and holdings make usable, with the zero
// Direction.
func inUse(doc policy.Document, h Holdings) (map[Effect]bool, error) {
	p, err := policy.Compile(doc)
	if err != nil {
		return nil, err
	}
	use := map[Effect]bool{}
	for _, b := range h.Bindings {
		if p.Decide(b.Host).Action == policy.Allow {
			use[Effect{Secret: b.Name, Host: b.Host, Port: b.Port}] = true
		}
	}
	for _, g := range h.Grants {
		if p.Decide(g.Host).Action != policy.Allow {
			continue
		}
		// Whoever may write may read.
		use[Effect{Repository: g.Repository, Host: g.Host}] = true
		if g.Write {
			use[Effect{Repository: g.Repository, Host: g.Host, Write: true}] = true
		}
	}
	return use, nil
}
