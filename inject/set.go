package inject

import (
	"fmt"
	"maps"

	"github.com/sallyport/sallyport/policy"
)

// MaxBindings is the largest number of bindings of one boundary (SI-29).
const MaxBindings = 64

// Set is the compiled bindings of one boundary. It is immutable and safe for
// concurrent use; nil is a Set without bindings.
type Set struct {
	env           map[string]string // variable → placeholder
	byPlaceholder map[string]string // placeholder → variable
	at            map[endpoint][]*bound
}

// Compile checks the bindings of the boundary named id and derives a
// placeholder for each variable (HMAC of key, id and variable). Two bindings
// for the same host, port and header, and headers that reflect or route
// (decision 22), are errors; every error is a *[BindingError].
func Compile(id string, bindings []Binding, key Key) (*Set, error) {
	if len(bindings) > MaxBindings {
		return nil, &BindingError{"bindings", fmt.Sprintf("%d bindings: at most %d", len(bindings), MaxBindings)}
	}
	s := &Set{
		env:           make(map[string]string),
		byPlaceholder: make(map[string]string),
		at:            make(map[endpoint][]*bound),
	}
	for i, binding := range bindings {
		b, err := binding.compile()
		if err != nil {
			return nil, atIndex(i, err)
		}
		for _, other := range s.at[b.at] {
			if other.header == b.header || isAlias(other.header, b.header) {
				return nil, atIndex(i, &BindingError{"header",
					fmt.Sprintf("%s of %s:%d is already bound to %s", b.header, b.at.host, b.at.port, other.env)})
			}
		}
		b.placeholder = defaultShape.derive(key, id, b.env)
		s.env[b.env] = b.placeholder
		s.byPlaceholder[b.placeholder] = b.env
		s.at[b.at] = append(s.at[b.at], b)
	}
	return s, nil
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
