// Package store is the built-in secret source for a single machine: one age
// file per secret version, under a key file beside them.
//
//	STATE/secrets.key                       age identity, mode 0600
//	STATE/secrets/NAME/0000000007.age       the current version
//	STATE/secrets/NAME/0000000008.deleted   or the mark that there is none
//
// The edge reads and the operator's CLI writes, at the same time and each in a
// process of its own: readers hold a shared lock on the directory, writers an
// exclusive one. A version is written beside its place, synced and renamed, so
// that a crash leaves either the old version or the new one. Version numbers
// of a name only grow, deletion included, and superseded versions are removed.
//
// A file that is lost can be read without us: age -d -i STATE/secrets.key, the
// first line names secret and version.
//
// Security promise: no file but the key holds anything from which a value
// could be had, and whatever is written is readable by its owner alone. A
// backup of STATE without the key is worthless to its finder.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/sallyport/sallyport/inject/secret"
)

// Store is the store in one state directory. It is safe for concurrent use, in
// several processes too.
type Store struct {
	state string // STATE, which gives new files their owner
	dir   string // STATE/secrets
	key   string // STATE/secrets.key
}

var _ secret.Source = (*Store)(nil)

// Info describes the current version of a secret, never its value.
type Info struct {
	Name    string
	Version string
	Created time.Time
}

// ErrName: a name that no secret of the store can have.
var ErrName = errors.New("want a letter or _, then at most 127 letters, digits, _, . or -")

// nameSyntax keeps names apart from the store's own files and from paths.
var nameSyntax = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,127}$`)

// New returns the store in the state directory. Nothing is created before the
// first Put.
func New(state string) *Store {
	return &Store{
		state: state,
		dir:   filepath.Join(state, "secrets"),
		key:   filepath.Join(state, "secrets.key"),
	}
}

// Read implements [secret.Source].
func (s *Store) Read(ctx context.Context, name string) (secret.Secret, error) {
	found, err := s.read(ctx, name)
	if err != nil {
		return secret.Secret{}, fmt.Errorf("read stored secret %q: %w", name, err)
	}
	return found, nil
}

func (s *Store) read(ctx context.Context, name string) (secret.Secret, error) {
	if !nameSyntax.MatchString(name) {
		return secret.Secret{}, fmt.Errorf("%w: %w", secret.ErrNotFound, ErrName)
	}
	unlock, err := s.lock(ctx, shared)
	if err != nil {
		return secret.Secret{}, err
	}
	defer unlock()
	current, err := s.current(name)
	if err != nil {
		return secret.Secret{}, err
	}
	encrypted, err := os.ReadFile(filepath.Join(s.dir, name, current.file()))
	if err != nil {
		return secret.Secret{}, classify(err)
	}
	value, err := s.decrypt(name, current, encrypted)
	if err != nil {
		return secret.Secret{}, err
	}
	return secret.Secret{Value: secret.NewValue(value), Version: current.String()}, nil
}

// List returns the current version of every secret, by name. It needs no key.
func (s *Store) List(ctx context.Context) ([]Info, error) {
	unlock, err := s.lock(ctx, shared)
	if errors.Is(err, secret.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list stored secrets: %w", err)
	}
	defer unlock()
	entries, err := os.ReadDir(s.dir) // sorted
	if err != nil {
		return nil, fmt.Errorf("list stored secrets: %w", classify(err))
	}
	var list []Info
	for _, entry := range entries {
		if !nameSyntax.MatchString(entry.Name()) || !entry.IsDir() {
			continue
		}
		info, err := s.describe(entry.Name())
		if errors.Is(err, secret.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list stored secret %q: %w", entry.Name(), err)
		}
		list = append(list, info)
	}
	return list, nil
}

// describe returns the current version of a name. A lock must be held.
func (s *Store) describe(name string) (Info, error) {
	current, err := s.current(name)
	if err != nil {
		return Info{}, err
	}
	stat, err := os.Stat(filepath.Join(s.dir, name, current.file()))
	if err != nil {
		return Info{}, classify(err)
	}
	return Info{Name: name, Version: current.String(), Created: stat.ModTime()}, nil
}

// classify maps an error of the file system to one of package secret.
func classify(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", secret.ErrNotFound, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %w", secret.ErrDenied, err)
	default:
		return fmt.Errorf("%w: %w", secret.ErrUnavailable, err)
	}
}
