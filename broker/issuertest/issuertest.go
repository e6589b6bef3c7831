// Package issuertest is the suite that every issuer passes: what the broker
// relies on, whatever forge stands behind it.
package issuertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/inject/secret"
)

// Fixture is an issuer under test and a look at its forge.
type Fixture struct {
	Issuer broker.Issuer
	// Granted and Other can be had, with either access; Missing can't.
	Granted, Other, Missing string
	// Allows asks the forge what a credential may do with a repository: Read,
	// Write, or "" for nothing.
	Allows func(c broker.Credential, repository string) broker.Access
}

// Run runs the suite; open makes a fresh Fixture for each test.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Run("scope", func(t *testing.T) { scope(t, open(t)) })
	t.Run("missing", func(t *testing.T) { missing(t, open(t)) })
	t.Run("revocation", func(t *testing.T) { revocation(t, open(t)) })
	t.Run("cancelled", func(t *testing.T) { cancelled(t, open(t)) })
	t.Run("concurrent", func(t *testing.T) { concurrent(t, open(t)) })
}

func scope(t *testing.T, f Fixture) {
	if f.Issuer.Host().IsZero() {
		t.Error("the issuer has no host")
	}
	for _, access := range []broker.Access{broker.Read, broker.Write} {
		got := mustIssue(t, f, f.Granted, access)
		if allowed := f.Allows(got, f.Granted); allowed != access {
			t.Errorf("a credential to %s may %q", access, allowed)
		}
		wide, _ := f.Issuer.(broker.Wide)
		if allowed := f.Allows(got, f.Other); allowed != "" && (wide == nil || !wide.Wide()) {
			t.Errorf("a credential for %s may %q %s", f.Granted, allowed, f.Other)
		}
		if err := secret.CheckHeader(got.Password.Reveal()); err != nil {
			t.Errorf("password: %v", err)
		}
		if got.Username == "" {
			t.Error("no username")
		}
		if !got.Expires.IsZero() && !got.Expires.After(time.Now()) {
			t.Error("the credential has expired already")
		}
		if !got.Repository.IsZero() && got.Repository != repository(t, f.Granted) {
			t.Errorf("the credential is for %s", got.Repository)
		}
	}
}

func missing(t *testing.T, f Fixture) {
	got, err := issue(t, f, f.Missing, broker.Read)
	if !errors.Is(err, broker.ErrRefused) || !got.Password.IsEmpty() {
		t.Errorf("error %v, want one that wraps ErrRefused", err)
	}
}

func revocation(t *testing.T, f Fixture) {
	first, second := mustIssue(t, f, f.Granted, broker.Read), mustIssue(t, f, f.Other, broker.Read)
	if first.Revoke == nil {
		return
	}
	for range 2 { // a retry after an answer that was lost
		if err := first.Revoke(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if allowed := f.Allows(first, f.Granted); allowed != "" {
		t.Errorf("a revoked credential may %q", allowed)
	}
	if f.Allows(second, f.Other) != broker.Read {
		t.Error("another credential was revoked too")
	}
}

func cancelled(t *testing.T, f Fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := f.Issuer.Issue(ctx, broker.Request{Repository: repository(t, f.Granted), Access: broker.Read})
	if err != nil && !errors.Is(err, broker.ErrUnavailable) {
		t.Errorf("error %v, want one that wraps ErrUnavailable", err)
	}
	if err != nil && !got.Password.IsEmpty() {
		t.Error("a credential beside an error")
	}
}

func concurrent(t *testing.T, f Fixture) {
	var wg sync.WaitGroup
	for i := range 8 {
		name := []string{f.Granted, f.Other}[i%2]
		wg.Go(func() {
			got, err := issue(t, f, name, broker.Read)
			if err != nil {
				t.Error(err)
			} else if f.Allows(got, name) != broker.Read {
				t.Errorf("a credential for %s isn't accepted there", name)
			}
		})
	}
	wg.Wait()
}

func issue(t *testing.T, f Fixture, name string, access broker.Access) (broker.Credential, error) {
	t.Helper()
	return f.Issuer.Issue(t.Context(), broker.Request{Repository: repository(t, name), Access: access})
}

func mustIssue(t *testing.T, f Fixture, name string, access broker.Access) broker.Credential {
	t.Helper()
	got, err := issue(t, f, name, access)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func repository(t *testing.T, name string) broker.Repository {
	t.Helper()
	r, err := broker.CanonicalRepository(name)
	if err != nil {
		t.Error(err)
	}
	return r
}
