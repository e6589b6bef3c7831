package inject

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

// MaxBindings is the largest number of bindings of one boundary (SI-29).
const MaxBindings = 64

// Set is the compiled bindings of one boundary. It is safe for concurrent use;
// nil is a Set without bindings.
type Set struct {
	id        string
	env       map[string]string // variable → placeholder
	forwarded map[string]bool   // variables whose misuse is forwarded
	strict    map[string]bool   // variables that no body may hold
	at        map[endpoint][]*bound
	all       []*bound
	held      []*held       // by index
	values    *known        // of held
	spent     *spending     // of this opening of the boundary
	issued    *Issued       // of all boundaries, or of this one alone
	scope     *secret.Scope // of the reads for it
}

// Compile checks the bindings of the boundary named id and derives a
// placeholder for each variable from key, id and variable. Two bindings for the
// same host, port and header, and headers that reflect or route (decision 22),
// are errors; every error is a *[BindingError].
func Compile(id string, bindings []Binding, key Key) (*Set, error) {
	if len(bindings) > MaxBindings {
		return nil, &BindingError{"bindings", fmt.Sprintf("%d bindings: at most %d", len(bindings), MaxBindings)}
	}
	s := &Set{
		id:        id,
		env:       make(map[string]string),
		forwarded: make(map[string]bool),
		strict:    make(map[string]bool),
		at:        make(map[endpoint][]*bound),
		values:    &known{},
		spent:     newSpending(),
		scope:     &secret.Scope{Boundary: id},
	}
	for i, binding := range bindings {
		b, err := binding.compile()
		if err == nil {
			err = s.add(b, key)
		}
		if err == nil {
			err = s.hold(b, key)
		}
		if err != nil {
			return nil, atIndex(i, err)
		}
	}
	s.values.now.Store(s.newSnapshot(make([][]byte, len(s.held))))
	return new(Issued).Admit(s), nil
}

// add takes b in beside those that are there already.
func (s *Set) add(b *bound, key Key) *BindingError {
	for _, other := range s.at[b.at] {
		if b.secret != nil && (other.header == b.header || isAlias(other.header, b.header)) {
			return &BindingError{"header",
				fmt.Sprintf("%s of %s:%d is already bound to %s", cmp.Or(b.header, "client certificate"), b.at.host, b.at.port, other.env)}
		}
	}
	b.placeholder = b.shape.Derive(key[:], s.id, b.env)
	if other, ok := s.env[b.env]; ok {
		switch {
		case other != b.placeholder:
			return &BindingError{"shape", b.env + " has another shape already"}
		case b.kind.alone() || !s.shared(b.env):
			return &BindingError{"env", b.env + " is a secret's, and honey or git's as well"}
		}
		b.forward = b.forward && s.forwarded[b.env]
	}
	s.env[b.env] = b.placeholder
	s.forwarded[b.env] = b.forward
	s.strict[b.env] = s.strict[b.env] || b.strict
	s.all = append(s.all, b)
	if b.secret != nil {
		s.at[b.at] = append(s.at[b.at], b)
	}
	return nil
}

// hold notes the values that b keeps, and adds the placeholder that goes with
// its own.
func (s *Set) hold(b *bound, key Key) *BindingError {
	for _, h := range b.holds() {
		h.index, h.env, h.stand = len(s.held), b.env, b.placeholder
		s.held = append(s.held, h)
	}
	if b.companion == nil {
		return nil
	}
	if err := s.add(b.companion, key); err != nil {
		return err
	}
	for _, h := range append(slices.Collect(maps.Values(b.secret.inner)), b.secret) {
		h.env, h.stand = b.companion.env, b.companion.placeholder
	}
	return nil
}

// shared reports whether a variable is of such kinds only as can share it.
func (s *Set) shared(env string) bool {
	return !slices.ContainsFunc(s.all, func(b *bound) bool { return b.env == env && b.kind.alone() })
}

// Placeholder returns the placeholder that a variable holds, or "".
func (s *Set) Placeholder(env string) string {
	if s == nil {
		return ""
	}
	return s.env[env]
}

// Env returns the placeholders by variable name, ready for a sandbox's
// environment. The caller may change the map.
func (s *Set) Env() map[string]string {
	if s == nil {
		return map[string]string{}
	}
	return maps.Clone(s.env)
}

// Binds reports whether any binding has this destination.
func (s *Set) Binds(host policy.Host, port uint16) bool {
	return s != nil && len(s.at[endpoint{host, port}]) > 0
}

// BindsHeader reports whether a secret is bound to the header called name at
// any destination, in any case and with '_' for '-'.
func (s *Set) BindsHeader(name string) bool {
	if s == nil {
		return false
	}
	for _, bindings := range s.at {
		for _, b := range bindings {
			if b.header == name || isAlias(name, b.header) {
				return true
			}
		}
	}
	return false
}
