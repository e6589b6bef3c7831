package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/inject/secret"
)

var _ secret.Keeper = (*Store)(nil)

// CanKeep implements [secret.Keeper]: it takes the lock of writers, reads the
// key and writes a file that it removes again.
func (s *Store) CanKeep(ctx context.Context, name string) error {
	if err := s.canKeep(ctx, name); err != nil {
		return fmt.Errorf("write stored secret %q: %w", name, err)
	}
	return nil
}

func (s *Store) canKeep(ctx context.Context, name string) error {
	if !nameSyntax.MatchString(name) {
		return fmt.Errorf("%w: %w", secret.ErrNotFound, ErrName)
	}
	return s.change(ctx, name, func(before version) error {
		if before.number == 0 || before.deleted {
			return secret.ErrNotFound
		}
		if _, err := s.identity(); err != nil {
			return fmt.Errorf("%w: %w", secret.ErrUnavailable, err)
		}
		f, err := os.CreateTemp(filepath.Join(s.dir, name), tmpPrefix+"*")
		if err != nil {
			return classify(err)
		}
		_, err = f.WriteString("-")
		if err := errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
			return classify(err)
		}
		return nil
	})
}

// Keep implements [secret.Keeper].
func (s *Store) Keep(ctx context.Context, name string, value []byte) error {
	_, err := s.PutText(ctx, name, value)
	return err
}

// Version returns the current version of name. It needs no key.
func (s *Store) Version(ctx context.Context, name string) (string, error) {
	if !nameSyntax.MatchString(name) {
		return "", fmt.Errorf("find stored secret %q: %w: %w", name, secret.ErrNotFound, ErrName)
	}
	unlock, err := s.lock(ctx, shared)
	if err != nil {
		return "", fmt.Errorf("find stored secret %q: %w", name, err)
	}
	defer unlock()
	current, err := s.current(name)
	if err != nil {
		return "", fmt.Errorf("find stored secret %q: %w", name, err)
	}
	return current.String(), nil
}
