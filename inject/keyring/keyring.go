// Package keyring keeps the credentials of the product: those that an
// organisation or a project shares with all its sessions, and those in vaults,
// which a session is granted one by one.
//
// A credential is a value with the bindings that it is good for. Values are in
// the embedded store, sealed; what is known of them (names, bindings, versions,
// times) is in one file beside it. Whoever opens boundaries asks [Keyring.Resolve]
// for bindings by name and never sees a value: it is read by the edge alone, when
// a request needs it, so that a rotation or deletion counts within the
// resolver's time.
//
// Promise: values go in and never come out of this package, not even their
// hash; one organisation's names lead to no credential of another.
package keyring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/secret"
)

// Limits of what is kept and of what one session may use (SI-29).
const (
	MaxPerVault = 50
	MaxVaults   = 10 // of one session
)

// Store keeps the values. *store.Store is one.
type Store interface {
	Keep(ctx context.Context, name string, value []byte) error
	Delete(ctx context.Context, name string) error
	Version(ctx context.Context, name string) (string, error)
}

// Errors that a caller tells apart.
var (
	// ErrNotFound: no such credential or vault.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the name is taken.
	ErrConflict = errors.New("exists already")
)

// InvalidError: what was asked for can't be meant. Its text names a field.
type InvalidError struct{ Problem string }

func (e *InvalidError) Error() string { return e.Problem }

func invalid(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }

// Credential is what is known of one; never its value.
type Credential struct {
	Name     string            `json:"name"`
	Bindings []inject.Template `json:"bindings"`
	Version  string            `json:"version"`
	Created  time.Time         `json:"created_at"`
	Updated  time.Time         `json:"updated_at"`
}

// Vault is a named collection of credentials.
type Vault struct {
	ID      string    `json:"id"`
	Org     string    `json:"org"`
	Project string    `json:"project,omitempty"` // empty: of the organisation
	Name    string    `json:"name"`
	Created time.Time `json:"created_at"`
}

// Keyring is safe for concurrent use. One process at a time may write a state
// directory.
type Keyring struct {
	file  string
	store Store

	mu     sync.Mutex // guards what follows, and keeps it in step with the file
	loaded bool
	now    contents
}

// contents is the file.
type contents struct {
	Vaults      map[string]Vault                 `json:"vaults"`      // by id
	Credentials map[string]map[string]Credential `json:"credentials"` // by collection and name
}

// New returns the keyring in a state directory. It does no I/O.
func New(state string, values Store) *Keyring {
	return &Keyring{file: filepath.Join(state, "keyring.json"), store: values}
}

// load reads the file once. The mutex must be held.
func (k *Keyring) load() error {
	if k.loaded {
		return nil
	}
	data, err := os.ReadFile(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte("{}"), nil
	}
	if err == nil {
		err = json.Unmarshal(data, &k.now)
	}
	if err != nil {
		return fmt.Errorf("read keyring: %w", err)
	}
	if k.now.Vaults == nil {
		k.now.Vaults = map[string]Vault{}
	}
	if k.now.Credentials == nil {
		k.now.Credentials = map[string]map[string]Credential{}
	}
	k.loaded = true
	return nil
}

// save writes the file whole or not at all. The mutex must be held. After a
// failure the file counts: what is in memory is forgotten.
func (k *Keyring) save() (err error) {
	defer func() {
		if err != nil {
			k.loaded, k.now = false, contents{}
			err = fmt.Errorf("write keyring: %w", err)
		}
	}()
	data, err := json.MarshalIndent(k.now, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(k.file), ".keyring-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), k.file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	dir, err := os.Open(filepath.Dir(k.file))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// sortedCredentials orders by name.
func sortedCredentials(all map[string]Credential) []Credential {
	list := make([]Credential, 0, len(all))
	for _, c := range all {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Credential) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// checkValue refuses what no binding could ever use.
func checkValue(value []byte) error {
	if err := errors.Join(secret.CheckSize(value), secret.CheckText(value)); err != nil {
		return invalid("value: %v", err)
	}
	return nil
}
