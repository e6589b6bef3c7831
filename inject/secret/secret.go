// Package secret holds what every secret source shares: the value that can't
// be printed by accident, the reference that names it, and the source
// interface.
package secret

import (
	"context"
	"errors"
	"time"
)

// Value is the plaintext of one secret. Formatting, logging or encoding it
// yields a fixed text; only [Value.Reveal] returns the bytes.
type Value struct{ b []byte }

// NewValue copies b.
func NewValue(b []byte) Value { return Value{append([]byte(nil), b...)} }

// Reveal returns the plaintext. Call it only where the bytes are put on the
// wire to a verified upstream. The caller must not modify the result.
func (v Value) Reveal() []byte { return v.b }

// Ref names a secret: a source kind and the source's own name for it, written
// "env:VAR", "file:/path", "store:NAME" or "vault:MOUNT/PATH#FIELD".
type Ref struct {
	Source string
	Name   string
}

// Secret is one version of a secret as a source returned it.
type Secret struct {
	Value Value
	// Version is the source's own name of this version, safe to log; empty if
	// the source has none.
	Version string
	// Expires is when the lease on the value ends; zero for values without one.
	Expires time.Time
}

// Errors that every source maps its failures to. Callers branch on these only.
var (
	// ErrNotFound: the source answered that there is no such secret.
	ErrNotFound = errors.New("secret not found")
	// ErrDenied: the source refused to show it to us.
	ErrDenied = errors.New("secret access denied")
	// ErrUnavailable: the source could not answer (down, sealed, slow).
	ErrUnavailable = errors.New("secret source unavailable")
)

// Source reads secrets of one kind. Implementations are safe for concurrent
// use, keep to ctx's deadline, and never put a value into an error.
type Source interface {
	Read(ctx context.Context, name string) (Secret, error)
}
