package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport/inject/secret"
)

// Put stores value as the next version of name and removes the versions before
// it. Values are 1 byte to [secret.MaxValue] and hold no control characters,
// line ends included (SI-14); the error for others wraps a
// *[secret.ValueError], for a bad name [ErrName].
func (s *Store) Put(ctx context.Context, name string, value []byte) (Info, error) {
	return s.put(ctx, name, value, secret.CheckLine)
}

// PutText is [Store.Put] for values that no header will carry, such as a
// private key in PEM: everything but NUL may be in them.
func (s *Store) PutText(ctx context.Context, name string, value []byte) (Info, error) {
	return s.put(ctx, name, value, secret.CheckText)
}

func (s *Store) put(ctx context.Context, name string, value []byte, check func([]byte) error) (Info, error) {
	if !nameSyntax.MatchString(name) {
		return Info{}, fmt.Errorf("store secret %q: %w", name, ErrName)
	}
	if err := errors.Join(secret.CheckSize(value), check(value)); err != nil {
		return Info{}, fmt.Errorf("store secret %q: %w", name, err)
	}
	var info Info
	err := s.change(ctx, name, func(before version) error {
		next := version{number: before.number + 1}
		encrypted, err := s.encrypt(name, next, value)
		if err != nil {
			return err
		}
		if err := s.replace(name, next, encrypted); err != nil {
			return err
		}
		info, err = s.describe(name)
		return err
	})
	if err != nil {
		return Info{}, fmt.Errorf("store secret %q: %w", name, err)
	}
	return info, nil
}

// Delete removes every version of name. It is [secret.ErrNotFound] if there is
// none. A later Put goes on counting.
func (s *Store) Delete(ctx context.Context, name string) error {
	if !nameSyntax.MatchString(name) {
		return fmt.Errorf("delete secret %q: %w", name, ErrName)
	}
	if _, err := os.Stat(filepath.Join(s.dir, name)); err != nil {
		return fmt.Errorf("delete secret %q: %w", name, classify(err))
	}
	err := s.change(ctx, name, func(before version) error {
		if before.number == 0 || before.deleted {
			return secret.ErrNotFound
		}
		return s.replace(name, version{number: before.number + 1, deleted: true}, nil)
	})
	if err != nil {
		return fmt.Errorf("delete secret %q: %w", name, err)
	}
	return nil
}

// change calls do with the latest version of name under the exclusive lock.
func (s *Store) change(ctx context.Context, name string, do func(before version) error) error {
	if err := s.makeDir(s.dir); err != nil {
		return err
	}
	unlock, err := s.lock(ctx, exclusive)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.makeDir(filepath.Join(s.dir, name)); err != nil {
		return err
	}
	before, err := s.latest(name)
	if err != nil {
		return err
	}
	return do(before)
}

// replace makes next the only version of name. Once it is durable it counts,
// so what is left over when removal fails, or when a crash came before it, is
// taken by the next change.
func (s *Store) replace(name string, next version, content []byte) error {
	dir := filepath.Join(s.dir, name)
	if err := s.writeDurably(filepath.Join(dir, next.file()), content); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return classify(err)
	}
	for _, entry := range entries {
		old, ours := parseVersion(entry.Name())
		ours = ours && old != next || strings.HasPrefix(entry.Name(), tmpPrefix)
		if !ours {
			continue
		}
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("remove a superseded version: %w", classify(err))
		}
	}
	return nil
}
