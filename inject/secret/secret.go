// Package secret holds what every secret source shares: the value that can't
// be printed by accident, the reference that names it, and the source
// interface. Sources are the packages beside inject (env, file, store, …);
// each passes the suite in secrettest.
//
// Security promise: a [Value] shows its bytes to [Value.Reveal] alone, and no
// error of this package holds any of them.
package secret

import (
	"context"
	"errors"
	"time"
)

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
	// ErrUnavailable: the source could not answer (down, sealed, slow), or its
	// answer can't be used.
	ErrUnavailable = errors.New("secret source unavailable")
)

// Source reads secrets of one kind. Implementations are safe for concurrent
// use, keep to ctx's deadline, wrap one of the errors above, and never put a
// value into an error. They don't cache: their caller does.
type Source interface {
	// Read returns the current version of the secret called name, in the
	// source's own naming.
	Read(ctx context.Context, name string) (Secret, error)
}
