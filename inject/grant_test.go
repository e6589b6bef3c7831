package inject_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/memory"
	"github.com/sallyport/sallyport/inject/secret"
)

// rotating issues a new refresh token for each, and gives up if one comes back.
type rotating struct {
	mu      sync.Mutex
	current string
	n       int
	reused  bool
	fails   error
	life    time.Duration
	hold    chan struct{} // nil: answer at once
}

func (r *rotating) Exchange(ctx context.Context, g inject.Grant) (inject.Token, error) {
	if r.hold != nil {
		<-r.hold
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails != nil {
		return inject.Token{}, r.fails
	}
	if string(g.Secret.Reveal()) != r.current {
		r.reused = true
		return inject.Token{}, secret.ErrDenied
	}
	r.n++
	r.current = fmt.Sprintf("refresh-token-%d", r.n)
	return inject.Token{
		Value:   secret.NewValue(fmt.Appendf(nil, "access-token-%d", r.n)),
		Refresh: secret.NewValue([]byte(r.current)),
		Expires: time.Now().Add(r.life),
	}, nil
}

// unwritable is a source whose writes fail while told to.
type unwritable struct {
	*memory.Source
	mu           sync.Mutex
	check, write bool // that fail
}

func (u *unwritable) CanKeep(ctx context.Context, name string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.check {
		return secret.ErrUnavailable
	}
	return u.Source.CanKeep(ctx, name)
}

func (u *unwritable) Keep(ctx context.Context, name string, value []byte) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.write {
		return secret.ErrUnavailable
	}
	return u.Source.Keep(ctx, name, value)
}

// refreshing is a set whose one binding is a refresh token, and what it sends.
type refreshing struct {
	t      *testing.T
	source *unwritable
	by     *rotating
	set    *inject.Set
	from   *inject.Resolver
}

func newRefreshing(t *testing.T) *refreshing {
	t.Helper()
	r := &refreshing{t: t, source: &unwritable{Source: memory.New()}, by: &rotating{current: "refresh-token-0", life: time.Minute}}
	if err := r.source.Set("refresh", []byte("refresh-token-0")); err != nil {
		t.Fatal(err)
	}
	r.set = compile(t, inject.Binding{
		Kind: inject.KindRefreshToken, Env: "TOKEN", Host: "api.example.com", Secret: "memory:refresh",
		OAuth2: &inject.OAuth2{TokenURL: "https://auth.example.com/token", ClientID: "c"},
	})
	r.from = inject.NewResolverWith(inject.ResolverOptions{
		Sources:    map[string]secret.Source{"memory": r.source},
		Exchangers: map[inject.Kind]inject.Exchanger{inject.KindRefreshToken: r.by},
		TTL:        inject.DefaultTTL,
	})
	return r
}

func (r *refreshing) send() (string, error) {
	r.t.Helper()
	req := request("https://api.example.com/", "Authorization", "Bearer "+r.set.Env()["TOKEN"])
	_, err := r.set.Apply(r.t.Context(), req, https(r.t, "api.example.com"), r.from)
	return req.Header.Get("Authorization"), err
}

func (r *refreshing) mustSend(want string) {
	r.t.Helper()
	if got, err := r.send(); err != nil || got != "Bearer "+want {
		r.t.Fatalf("sent %q, %v; want %s", got, err, want)
	}
}

func (r *refreshing) kept() string {
	r.t.Helper()
	found, err := r.source.Read(r.t.Context(), "refresh")
	if err != nil {
		r.t.Fatal(err)
	}
	return string(found.Value.Reveal())
}

// Case: C20
func TestRefreshTokenSurvivesAFailedWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRefreshing(t)
		r.source.write = true
		r.mustSend("access-token-1")
		time.Sleep(2 * time.Minute) // the token has expired
		r.mustSend("access-token-2")
		if r.kept() != "refresh-token-0" || r.by.reused {
			t.Fatalf("kept %s, reused %v", r.kept(), r.by.reused)
		}
		r.source.mu.Lock()
		r.source.write = false
		r.source.mu.Unlock()
		time.Sleep(2 * time.Second)
		r.mustSend("access-token-2")
		synctest.Wait()
		if r.kept() != "refresh-token-2" {
			t.Errorf("after recovery %s is kept", r.kept())
		}
		time.Sleep(2 * time.Minute)
		r.mustSend("access-token-3")
		synctest.Wait()
		if r.kept() != "refresh-token-3" || r.by.reused {
			t.Errorf("kept %s, reused %v", r.kept(), r.by.reused)
		}
	})
}

// Nothing is spent whose successor could not be kept. Case: C20
func TestRefreshTokenIsNotSpentInVain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRefreshing(t)
		r.source.check = true
		if got, err := r.send(); !errors.Is(err, secret.ErrUnavailable) {
			t.Errorf("sent %q, %v", got, err)
		}
		if r.by.n != 0 {
			t.Error("it was spent")
		}
		r.source.check = false
		time.Sleep(2 * time.Second) // the failure is remembered for a moment
		r.mustSend("access-token-1")
	})
}

// Case: C20: one failure of the endpoint is not the end.
func TestTransientFailureOfTheEndpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRefreshing(t)
		r.mustSend("access-token-1")
		r.by.fails = secret.ErrUnavailable
		time.Sleep(56 * time.Second) // still good, and due
		r.mustSend("access-token-1")
		synctest.Wait()
		time.Sleep(10 * time.Second)
		if _, err := r.send(); !errors.Is(err, secret.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
		r.by.fails = errors.New("what no Exchanger should say: refresh-token-1")
		time.Sleep(2 * time.Second)
		if _, err := r.send(); !errors.Is(err, secret.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
		r.by.fails = nil
		time.Sleep(2 * time.Second)
		r.mustSend("access-token-2")
	})
}

// Case: C21
func TestOneRefreshForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRefreshing(t)
		r.by.hold = make(chan struct{})
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if got, err := r.send(); err != nil || got != "Bearer access-token-1" {
					t.Errorf("sent %q, %v", got, err)
				}
			})
		}
		synctest.Wait()
		close(r.by.hold)
		wg.Wait()
		// Nobody waits for the next while this one is good.
		r.by.hold = make(chan struct{})
		time.Sleep(55 * time.Second)
		for range 50 {
			r.mustSend("access-token-1")
		}
		close(r.by.hold)
		synctest.Wait()
		r.mustSend("access-token-2")
		if r.by.n != 2 || r.by.reused {
			t.Errorf("asked %d times, reused %v", r.by.n, r.by.reused)
		}
	})
}

// A token that the operator puts into the source begins anew. Ledger: SI-16
func TestOperatorsTokenReplacesOurs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRefreshing(t)
		r.mustSend("access-token-1")
		synctest.Wait()
		r.by.current = "granted-again"
		if err := r.source.Set("refresh", []byte("granted-again")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(inject.DefaultTTL)
		r.mustSend("access-token-2")
		r.source.Delete("refresh")
		time.Sleep(inject.DefaultTTL)
		if _, err := r.send(); !errors.Is(err, secret.ErrNotFound) {
			t.Errorf("without the secret: %v", err)
		}
	})
}
