package inject_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/secret"
)

// A source that is down may be bridged for as long as the operator says, if it
// says so; one that says no, or a lease that ends, never is. Decision 21.
// Ledger: SI-11, SI-16. Case: C24
func TestStaleValueForAWhile(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		stale  time.Duration
		lease  time.Duration
		err    error
		usable time.Duration // after the time to live
	}{
		{"off", 0, 0, secret.ErrUnavailable, 0},
		{"a minute", time.Minute, 0, secret.ErrUnavailable, time.Minute},
		{"at most five", time.Hour, 0, secret.ErrUnavailable, 5 * time.Minute},
		{"no longer than the lease", time.Minute, inject.DefaultTTL + 20*time.Second, secret.ErrUnavailable, 20 * time.Second},
		{"deleted", time.Minute, 0, secret.ErrNotFound, 0},
		{"denied", time.Minute, 0, secret.ErrDenied, 0},
	}
	for _, c := range cases {
		synctest.Test(t, func(t *testing.T) {
			var failing error
			source := &scripted{}
			source.read = func(context.Context, string) (secret.Secret, error) {
				found := secret.Secret{Value: secret.NewValue([]byte("value"))}
				if c.lease > 0 {
					found.Expires = time.Now().Add(c.lease)
				}
				return found, failing
			}
			r := inject.NewResolverWith(inject.ResolverOptions{
				Sources: map[string]secret.Source{"test": source}, TTL: inject.DefaultTTL, StaleFor: c.stale,
			})
			requireValue(t, r, "value")
			failing = c.err
			time.Sleep(inject.DefaultTTL)
			for waited := time.Duration(0); waited < c.usable; waited += 5 * time.Second {
				requireValue(t, r, "value")
				time.Sleep(5 * time.Second)
			}
			if _, err := r.Read(t.Context(), ref); !errors.Is(err, c.err) {
				t.Errorf("%s: %v, want %v", c.name, err, c.err)
			}
			failing = nil
			time.Sleep(5 * time.Second)
			requireValue(t, r, "value")
		})
	}
}
