package keyring

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sallyport/sallyport/inject"
)

// Wanted is what a session of a project uses.
type Wanted struct {
	Org, Project string            // Org is required
	Env          map[string]string // variable → name of a credential of the project or the organisation
	Vaults       []string          // ids: each credential in them, in the variable of its name
}

// MissingError names a credential that isn't there (SI-19). It is an
// [ErrNotFound].
type MissingError struct{ Name string }

func (e *MissingError) Error() string { return fmt.Sprintf("no credential is called %q", e.Name) }

// Unwrap returns ErrNotFound.
func (e *MissingError) Unwrap() error { return ErrNotFound }

// Resolve returns the bindings of a session, ready for a boundary. A project's
// credential goes before the organisation's of the same name (SI-21), and a
// variable of Env before one of a vault. No value is read.
func (k *Keyring) Resolve(w Wanted) ([]inject.Binding, error) {
	switch {
	case !idForm.MatchString(w.Org) || w.Project != "" && !idForm.MatchString(w.Project):
		return nil, invalid("org, project: malformed id")
	case len(w.Vaults) > MaxVaults:
		return nil, invalid("vaults: at most %d", MaxVaults)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.load(); err != nil {
		return nil, err
	}
	var all []inject.Binding
	for _, env := range slices.Sorted(maps.Keys(w.Env)) {
		found, err := k.find(w, w.Env[env])
		if err != nil {
			return nil, err
		}
		all = append(all, bound(found.Bindings, env, found.ref)...)
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(w.Vaults))) {
		v, there := k.now.Vaults[id]
		if !there || v.Org != w.Org || v.Project != "" && v.Project != w.Project {
			return nil, fmt.Errorf("vault %.64q: %w", id, ErrNotFound)
		}
		key := Collection{Vault: id}.String()
		for _, c := range sortedCredentials(k.now.Credentials[key]) {
			if _, taken := w.Env[c.Name]; !taken {
				all = append(all, bound(c.Bindings, c.Name, "store:"+stored(key, c.Name))...)
			}
		}
	}
	if _, err := inject.Compile("check", all, inject.Key{}); err != nil {
		var bad *inject.BindingError
		if errors.As(err, &bad) {
			return nil, invalid("%v", bad)
		}
		return nil, err
	}
	return all, nil
}

// credential is one with the reference to its value.
type credential struct {
	Credential
	ref string
}

// find looks a name up in the project, then in the organisation. The mutex must
// be held.
func (k *Keyring) find(w Wanted, name string) (credential, error) {
	scopes := []Collection{{Org: w.Org}}
	if w.Project != "" {
		scopes = []Collection{{Org: w.Org, Project: w.Project}, {Org: w.Org}}
	}
	for _, in := range scopes {
		key := in.String()
		if c, there := k.now.Credentials[key][name]; there {
			return credential{c, "store:" + stored(key, name)}, nil
		}
	}
	return credential{}, &MissingError{name}
}
