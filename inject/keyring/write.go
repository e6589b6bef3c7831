package keyring

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/secret"
)

// Put makes value the next version of a credential, and bindings what it is
// good for. A nil value leaves the value, nil bindings the bindings of one that
// is there. Errors are [ErrNotFound] for a vault that isn't there, and an
// *[InvalidError].
func (k *Keyring) Put(ctx context.Context, in Collection, name string, value []byte, bindings []inject.Template) (Credential, error) {
	if !nameForm.MatchString(name) {
		return Credential{}, invalid("name: want a letter or _, then at most 127 letters, digits and _")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.open(in); err != nil {
		return Credential{}, err
	}
	now, key := time.Now().UTC().Truncate(time.Second), in.String()
	c, existed := k.now.Credentials[key][name]
	if !existed {
		c = Credential{Name: name, Created: now}
		if in.Vault != "" && len(k.now.Credentials[key]) >= MaxPerVault {
			return Credential{}, invalid("name: a vault holds at most %d credentials", MaxPerVault)
		}
	}
	if bindings != nil || !existed {
		if err := checkBindings(bindings); err != nil {
			return Credential{}, err
		}
		c.Bindings = bindings
	}
	if value != nil || !existed {
		if err := checkValue(value); err != nil {
			return Credential{}, err
		}
		// The value first: of a credential that isn't noted nobody knows.
		if err := k.store.Keep(ctx, stored(key, name), value); err != nil {
			return Credential{}, fmt.Errorf("keep credential %s: %w", name, err)
		}
	}
	var err error
	if c.Version, err = k.store.Version(ctx, stored(key, name)); err != nil {
		return Credential{}, fmt.Errorf("keep credential %s: %w", name, err)
	}
	c.Updated = now
	if k.now.Credentials[key] == nil {
		k.now.Credentials[key] = map[string]Credential{}
	}
	k.now.Credentials[key][name] = c
	return c, k.save()
}

// List returns the credentials of a collection by name. ErrNotFound is for a
// vault that isn't there.
func (k *Keyring) List(in Collection) ([]Credential, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.open(in); err != nil {
		return nil, err
	}
	return sortedCredentials(k.now.Credentials[in.String()]), nil
}

// Delete removes a credential and every version of its value.
func (k *Keyring) Delete(ctx context.Context, in Collection, name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.open(in); err != nil {
		return err
	}
	key := in.String()
	if _, there := k.now.Credentials[key][name]; !there {
		return fmt.Errorf("credential %s: %w", name, ErrNotFound)
	}
	// The value first: it is what has to be gone.
	if err := k.forget(ctx, key, name); err != nil {
		return err
	}
	delete(k.now.Credentials[key], name)
	return k.save()
}

func (k *Keyring) forget(ctx context.Context, key, name string) error {
	err := k.store.Delete(ctx, stored(key, name))
	if err != nil && !errors.Is(err, secret.ErrNotFound) {
		return fmt.Errorf("delete credential %s: %w", name, err)
	}
	return nil
}

// CreateVault makes an empty vault. ErrConflict says that the organisation or
// project has one of that name.
func (k *Keyring) CreateVault(org, project, name string) (Vault, error) {
	if !idForm.MatchString(org) || project != "" && !idForm.MatchString(project) {
		return Vault{}, invalid("org, project: malformed id")
	}
	if !idForm.MatchString(name) {
		return Vault{}, invalid("name: want a letter or digit, then at most 127 letters, digits, '.', '_' and '-'")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.load(); err != nil {
		return Vault{}, err
	}
	for _, v := range k.now.Vaults {
		if v.Org == org && v.Project == project && v.Name == name {
			return Vault{}, fmt.Errorf("vault %s: %w", name, ErrConflict)
		}
	}
	v := Vault{ID: "vlt_" + strings.ToLower(rand.Text()), Org: org, Project: project, Name: name, Created: time.Now().UTC().Truncate(time.Second)}
	k.now.Vaults[v.ID] = v
	return v, k.save()
}

// Vaults returns the vaults of an organisation by name: with a project, its own
// and the organisation's; without, all.
func (k *Keyring) Vaults(org, project string) ([]Vault, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.load(); err != nil {
		return nil, err
	}
	list := []Vault{}
	for _, v := range k.now.Vaults {
		if v.Org == org && (project == "" || v.Project == "" || v.Project == project) {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b Vault) int {
		return strings.Compare(a.Name+"\x00"+a.ID, b.Name+"\x00"+b.ID)
	})
	return list, nil
}

// DeleteVault removes a vault with all that is in it.
func (k *Keyring) DeleteVault(ctx context.Context, id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	in := Collection{Vault: id}
	if err := k.open(in); err != nil {
		return err
	}
	key := in.String()
	for name := range k.now.Credentials[key] {
		if err := k.forget(ctx, key, name); err != nil {
			return err
		}
	}
	delete(k.now.Credentials, key)
	delete(k.now.Vaults, id)
	return k.save()
}

// open loads, and refuses a vault that isn't there. The mutex must be held.
func (k *Keyring) open(in Collection) error {
	if err := k.load(); err != nil {
		return err
	}
	if _, there := k.now.Vaults[in.Vault]; in.Vault != "" && !there {
		return fmt.Errorf("vault %s: %w", in.Vault, ErrNotFound)
	}
	return nil
}

// checkBindings compiles bindings as a session would use them.
func checkBindings(bindings []inject.Template) error {
	if len(bindings) == 0 {
		return invalid("bindings: want one at least")
	}
	if _, err := inject.Compile("check", bound(bindings, "NAME", "store:value"), inject.Key{}); err != nil {
		return invalid("%v", err)
	}
	return nil
}

// bound returns bindings with variable and secret filled in.
func bound(bindings []inject.Template, env, ref string) []inject.Binding {
	all := make([]inject.Binding, len(bindings))
	for i, b := range bindings {
		all[i] = b.Bind(env, ref)
	}
	return all
}
