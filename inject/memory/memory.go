// Package memory is the secret source that lives and dies with the process:
// values pushed to the edge over its control socket, for a single run. It
// writes nothing to disk and keeps one version of each.
//
// Security promise: what is deleted or replaced is never returned again.
package memory

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/sallyport/sallyport/inject/secret"
)

// Source holds secrets by name. It is safe for concurrent use.
type Source struct {
	mu      sync.RWMutex // guards secrets and changes
	secrets map[string]secret.Secret
	changes uint64
}

var _ secret.Keeper = (*Source)(nil)

// New returns an empty Source.
func New() *Source { return &Source{secrets: make(map[string]secret.Secret)} }

// Set stores a copy of value under name, in place of what was there. Values
// are 1 byte to [secret.MaxValue] and hold no control characters; the error
// wraps a *[secret.ValueError].
func (s *Source) Set(name string, value []byte) error {
	if name == "" {
		return errors.New("set secret: no name")
	}
	if err := secret.CheckSize(value); err != nil {
		return fmt.Errorf("set secret %q: %w", name, err)
	}
	if err := secret.CheckLine(value); err != nil {
		return fmt.Errorf("set secret %q: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	s.secrets[name] = secret.Secret{
		Value:   secret.NewValue(value),
		Version: strconv.FormatUint(s.changes, 10),
	}
	return nil
}

// Delete forgets name and reports whether it was there.
func (s *Source) Delete(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.secrets[name]
	delete(s.secrets, name)
	return ok
}

// Versions returns the version of each secret by name. The caller may change
// the map.
func (s *Source) Versions() map[string]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	versions := make(map[string]string, len(s.secrets))
	for name, held := range s.secrets {
		versions[name] = held.Version
	}
	return versions
}

// CanKeep implements [secret.Keeper].
func (s *Source) CanKeep(ctx context.Context, name string) error {
	_, err := s.Read(ctx, name)
	return err
}

// Keep implements [secret.Keeper].
func (s *Source) Keep(ctx context.Context, name string, value []byte) error {
	if err := s.CanKeep(ctx, name); err != nil {
		return err
	}
	return s.Set(name, value)
}

// Read implements [secret.Source].
func (s *Source) Read(ctx context.Context, name string) (secret.Secret, error) {
	if err := ctx.Err(); err != nil {
		return secret.Secret{}, fmt.Errorf("read memory secret %q: %w: %w", name, secret.ErrUnavailable, err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	held, ok := s.secrets[name]
	if !ok {
		return secret.Secret{}, fmt.Errorf("read memory secret %q: %w", name, secret.ErrNotFound)
	}
	return held, nil
}
