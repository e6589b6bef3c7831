package inject_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/secret"
)

// scripted is a source that answers from a function and counts.
type scripted struct {
	reads atomic.Int64
	read  func(ctx context.Context, name string) (secret.Secret, error)
}

func (s *scripted) Read(ctx context.Context, name string) (secret.Secret, error) {
	s.reads.Add(1)
	return s.read(ctx, name)
}

var ref = secret.Ref{Source: "test", Name: "token"}

func over(s *scripted) *inject.Resolver {
	return inject.NewResolver(map[string]secret.Source{"test": s})
}

// counting answers each read with its number.
func counting() *scripted {
	s := new(scripted)
	s.read = func(context.Context, string) (secret.Secret, error) {
		return secret.Secret{Value: secret.NewValue(fmt.Appendf(nil, "v%d", s.reads.Load()))}, nil
	}
	return s
}

func requireValue(t *testing.T, r *inject.Resolver, want string) {
	t.Helper()
	got, err := r.Read(t.Context(), ref)
	if err != nil || string(got.Value.Reveal()) != want {
		t.Errorf("got %q, %v, want %q", got.Value.Reveal(), err, want)
	}
}

// Ledger: SI-16
func TestValuesAreKeptForTheirTimeAndNoLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := over(counting())
		requireValue(t, r, "v1")
		time.Sleep(inject.DefaultTTL - time.Nanosecond)
		requireValue(t, r, "v1")
		time.Sleep(time.Nanosecond)
		requireValue(t, r, "v2")
	})
}

func TestTimeToLiveCanBeSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := inject.NewResolverTTL(map[string]secret.Source{"test": counting()}, time.Second)
		requireValue(t, r, "v1")
		requireValue(t, r, "v1")
		time.Sleep(time.Second)
		requireValue(t, r, "v2")
		r = inject.NewResolverTTL(map[string]secret.Source{"test": counting()}, 0)
		requireValue(t, r, "v1")
		requireValue(t, r, "v2")
	})
}

// A slow answer is as old as its question.
func TestTimeToLiveCountsFromTheQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := counting()
		answer := s.read
		s.read = func(ctx context.Context, name string) (secret.Secret, error) {
			got, err := answer(ctx, name)
			time.Sleep(5 * time.Second)
			return got, err
		}
		r := over(s)
		requireValue(t, r, "v1")
		time.Sleep(inject.DefaultTTL - 5*time.Second)
		requireValue(t, r, "v2")
	})
}

// Ledger: SI-11
func TestLeaseEndsBeforeTheTimeToLive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := counting()
		answer := s.read
		ends := time.Now().Add(10 * time.Second)
		s.read = func(ctx context.Context, name string) (secret.Secret, error) {
			got, err := answer(ctx, name)
			got.Expires = ends
			return got, err
		}
		r := over(s)
		requireValue(t, r, "v1")
		time.Sleep(10*time.Second - time.Nanosecond)
		requireValue(t, r, "v1")
		time.Sleep(time.Nanosecond)
		if _, err := r.Read(t.Context(), ref); !errors.Is(err, secret.ErrUnavailable) {
			t.Errorf("a lease that has ended: %v", err)
		}
	})
}

// Decision 21: a value never outlives its time because the source is down.
func TestNoStaleValueWhenTheSourceIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := counting()
		answer := s.read
		var down bool
		s.read = func(ctx context.Context, name string) (secret.Secret, error) {
			if down {
				return secret.Secret{}, fmt.Errorf("sealed: %w", secret.ErrUnavailable)
			}
			return answer(ctx, name)
		}
		r := over(s)
		requireValue(t, r, "v1")
		down = true
		time.Sleep(inject.DefaultTTL)
		if _, err := r.Read(t.Context(), ref); !errors.Is(err, secret.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		down = false
		time.Sleep(2 * time.Second)
		requireValue(t, r, "v3")
	})
}

// Case: C21
func TestConcurrentReadsAreOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := counting()
		answer := s.read
		s.read = func(ctx context.Context, name string) (secret.Secret, error) {
			time.Sleep(time.Second)
			return answer(ctx, name)
		}
		r := over(s)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { requireValue(t, r, "v1") })
		}
		wg.Wait()
		if n := s.reads.Load(); n != 1 {
			t.Errorf("%d reads", n)
		}
	})
}

// Whoever goes away first doesn't take the others' answer along.
func TestCancelledReaderLeavesTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(scripted)
		s.read = func(ctx context.Context, _ string) (secret.Secret, error) {
			select {
			case <-ctx.Done():
				return secret.Secret{}, ctx.Err()
			case <-time.After(time.Second):
				return secret.Secret{Value: secret.NewValue([]byte("v"))}, nil
			}
		}
		r := over(s)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := r.Read(ctx, ref)
			gone <- err
		}()
		synctest.Wait()
		var wg sync.WaitGroup
		wg.Go(func() { requireValue(t, r, "v") })
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) || !errors.Is(err, secret.ErrUnavailable) {
			t.Errorf("cancelled reader: %v", err)
		}
		wg.Wait()
	})
}

func TestSlowSourceEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(scripted)
		s.read = func(ctx context.Context, _ string) (secret.Secret, error) {
			<-ctx.Done()
			return secret.Secret{}, ctx.Err()
		}
		start := time.Now()
		_, err := over(s).Read(t.Context(), ref)
		if !errors.Is(err, secret.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
		synctest.Wait()
	})
}

// Failures are remembered for about a second, not for the same time
// everywhere.
func TestFailuresAreRememberedBriefly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lasted := make(map[time.Duration]bool)
		for range 20 {
			s := new(scripted)
			s.read = func(context.Context, string) (secret.Secret, error) {
				return secret.Secret{}, secret.ErrNotFound
			}
			r := over(s)
			start := time.Now()
			for s.reads.Load() < 2 {
				if _, err := r.Read(t.Context(), ref); !errors.Is(err, secret.ErrNotFound) {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond)
			}
			took := time.Since(start)
			if took < 500*time.Millisecond || took > 1510*time.Millisecond {
				t.Errorf("remembered for %v", took)
			}
			lasted[took] = true
		}
		if len(lasted) < 5 {
			t.Errorf("no jitter: %v", lasted)
		}
	})
}

// Every failure is one of three, names the reference, and quotes nothing that
// a source didn't vouch for.
func TestFailuresAreClassified(t *testing.T) {
	t.Parallel()
	cases := []struct {
		err, want error
	}{
		{fmt.Errorf("a: %w", secret.ErrNotFound), secret.ErrNotFound},
		{fmt.Errorf("a: %w", secret.ErrDenied), secret.ErrDenied},
		{fmt.Errorf("a: %w", secret.ErrUnavailable), secret.ErrUnavailable},
		{context.DeadlineExceeded, secret.ErrUnavailable},
		{errors.New("value " + plain + " is odd"), secret.ErrUnavailable},
		{nil, secret.ErrUnavailable}, // an empty value
	}
	for _, c := range cases {
		s := &scripted{read: func(context.Context, string) (secret.Secret, error) { return secret.Secret{}, c.err }}
		_, err := over(s).Read(t.Context(), ref)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), "test:token") || strings.Contains(err.Error(), plain) {
			t.Errorf("%v: got %v", c.err, err)
		}
	}
}

func TestUnknownKindHidesTheName(t *testing.T) {
	t.Parallel()
	var none *inject.Resolver
	for _, r := range []*inject.Resolver{none, inject.NewResolver(nil)} {
		_, err := r.Read(t.Context(), secret.Ref{Source: "user", Name: plain})
		if !errors.Is(err, secret.ErrUnavailable) || strings.Contains(err.Error(), plain) {
			t.Errorf("got %v", err)
		}
	}
}

// Each opening of a boundary is asked for by itself, and its own is cached.
func TestScopesShareNothing(t *testing.T) {
	t.Parallel()
	s := counting()
	r := over(s)
	// The same id, as of a boundary that was closed and opened again.
	one, two := &secret.Scope{Boundary: "box"}, &secret.Scope{Boundary: "box"}
	requireValueOf(t, r, one, "v1")
	requireValueOf(t, r, two, "v2")
	requireValueOf(t, r, one, "v1")
	requireValue(t, r, "v3")
}

func requireValueOf(t *testing.T, r *inject.Resolver, scope *secret.Scope, want string) {
	t.Helper()
	got, err := r.Read(secret.Within(t.Context(), scope), ref)
	if err != nil || string(got.Value.Reveal()) != want {
		t.Errorf("got %q, %v, want %q", got.Value.Reveal(), err, want)
	}
}
