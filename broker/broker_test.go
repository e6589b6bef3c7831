package broker_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

// forge is an issuer whose tokens say what they are for.
type forge struct {
	host policy.Host

	mu     sync.Mutex
	mints  int
	alive  map[string]time.Time // tokens and their end
	fail   func(n int) error    // of the nth mint; nil: none
	refuse int                  // revocations that fail
	takes  time.Duration
	life   time.Duration
	moved  map[string]string
}

func (f *forge) Host() policy.Host { return f.host }

func (f *forge) Issue(ctx context.Context, r broker.Request) (broker.Credential, error) {
	time.Sleep(f.takes)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mints++
	if f.fail != nil {
		if err := f.fail(f.mints); err != nil {
			return broker.Credential{}, err
		}
	}
	token := fmt.Sprintf("token-%d-%s-%s", f.mints, r.Access, r.Repository)
	life := f.life
	if life == 0 {
		life = time.Hour
	}
	if f.alive == nil {
		f.alive = map[string]time.Time{}
	}
	f.alive[token] = time.Now().Add(life)
	name := r.Repository
	if to, ok := f.moved[name.String()]; ok {
		name, _ = broker.CanonicalRepository(to)
	}
	return broker.Credential{
		Username: "u", Password: secret.NewValue([]byte(token)), Expires: time.Now().Add(life), Repository: name,
		Revoke: func(context.Context) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.refuse > 0 {
				f.refuse--
				return errors.New("down")
			}
			delete(f.alive, token)
			return nil
		},
	}, nil
}

func (f *forge) Moved(_ context.Context, r broker.Repository) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, moved := f.moved[r.String()]
	return moved, nil
}

func (f *forge) state() (mints, alive int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.alive, func(_ string, end time.Time) bool { return !time.Now().Before(end) })
	return f.mints, len(f.alive)
}

// bed is a broker over one forge, and the boundaries that it looks up.
type bed struct {
	*broker.Broker
	forge *forge

	mu      sync.Mutex
	grants  map[string]*broker.Grants
	changed chan struct{}
	events  []broker.Event
}

func newBed(t *testing.T, f *forge, grants ...broker.Grant) *bed {
	t.Helper()
	host, err := policy.CanonicalHost("git.test")
	if err != nil {
		t.Fatal(err)
	}
	f.host = host
	b := &bed{forge: f, grants: map[string]*broker.Grants{}, changed: make(chan struct{})}
	b.put(t, "sb", grants...)
	b.Broker = broker.New(broker.Options{
		Issuers: map[string]broker.Issuer{"forge": f},
		Lookup: func(id string) (*broker.Grants, <-chan struct{}) {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.grants[id], b.changed
		},
		Record: func(e broker.Event) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.events = append(b.events, e)
		},
	})
	return b
}

// put replaces the grants of a sandbox; closeSandbox takes it away.
func (b *bed) put(t *testing.T, id string, grants ...broker.Grant) {
	t.Helper()
	compiled, err := broker.Compile(grants)
	if err != nil {
		t.Fatal(err)
	}
	b.change(func() { b.grants[id] = compiled })
}

func (b *bed) closeSandbox(id string) { b.change(func() { delete(b.grants, id) }) }

func (b *bed) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *bed) count(kind broker.EventKind) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, e := range b.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func (b *bed) end(t *testing.T) {
	t.Helper()
	if err := b.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if _, alive := b.forge.state(); alive > 0 {
		t.Errorf("%d tokens outlive the broker", alive)
	}
}

func grant(repository string, access broker.Access) broker.Grant {
	return broker.Grant{Repository: repository, Host: "git.test", Access: access, Issuer: "forge"}
}

// inBubble runs f where time is its own.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// Ledger: GB-5, GB-7, GB-8. Case: D06, D07, D08.
func TestGetAnswersGrantedRepositoriesOnly(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBed(t, &forge{}, grant("octo/app", broker.Read), grant("octo/site", broker.Write))
		defer b.end(t)
		cases := []struct {
			sandbox, host, path string
			access              broker.Access
			want                error
			token               string
		}{
			{"sb", "git.test", "octo/app.git", broker.Read, nil, "read-octo/app"},
			{"sb", "GIT.test.", "Octo/App", broker.Read, nil, "read-octo/app"},
			{"sb", "git.test", "octo/site.git", broker.Read, nil, "read-octo/site"},
			{"sb", "git.test", "octo/site.git", broker.Write, nil, "write-octo/site"},
			{"sb", "git.test", "octo/app.git", broker.Write, broker.ErrReadOnly, ""},
			{"sb", "git.test", "octo/app/more", broker.Read, broker.ErrNotGranted, ""},
			{"sb", "git.test", "octo/other.git", broker.Read, broker.ErrNotGranted, ""},
			{"sb", "git.test", "octo/app/../other.git", broker.Read, broker.ErrNotGranted, ""},
			{"sb", "git.test", "octo", broker.Read, broker.ErrNotGranted, ""},
			{"sb", "git.test", "", broker.Read, broker.ErrNotGranted, ""},
			{"sb", "git.test:443", "octo/app", broker.Read, broker.ErrNotBrokered, ""},
			{"sb", "git.test:8443", "octo/app", broker.Read, broker.ErrNotBrokered, ""},
			{"sb", "evil.test", "octo/app", broker.Read, broker.ErrNotBrokered, ""},
			{"sb", "u@git.test", "octo/app", broker.Read, broker.ErrNotBrokered, ""},
			{"sb", "", "octo/app", broker.Read, broker.ErrNotBrokered, ""},
			{"another", "git.test", "octo/app", broker.Read, broker.ErrNotBrokered, ""},
		}
		for _, c := range cases {
			got, err := b.Get(t.Context(), c.sandbox, c.host, c.path, c.access)
			if !errors.Is(err, c.want) || !strings.HasSuffix(string(got.Password.Reveal()), c.token) || c.token == "" && !got.Password.IsEmpty() {
				t.Errorf("%s: %s/%s: got %s, %v; want %s, %v", c.sandbox, c.host, c.path, got.Password.Reveal(), err, c.token, c.want)
			}
		}
		if mints, _ := b.forge.state(); mints != 3 {
			t.Errorf("%d mints, want 3", mints)
		}
	})
}

// Ledger: GB-1. Case: D24: parallel questions cause one mint; what is cached
// is served for five minutes and not longer.
func TestCache(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBed(t, &forge{takes: time.Second}, grant("octo/app", broker.Read))
		b.put(t, "sb2", grant("octo/app", broker.Read))
		defer b.end(t)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if _, err := b.Get(t.Context(), "sb", "git.test", "octo/app", broker.Read); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		expect := func(sandbox string, want int) {
			t.Helper()
			got, err := b.Get(t.Context(), sandbox, "git.test", "octo/app", broker.Read)
			if err != nil {
				t.Fatal(err)
			}
			if mints, _ := b.forge.state(); mints != want {
				t.Errorf("%d mints, want %d", mints, want)
			}
			if left := time.Until(got.Expires); left <= 0 || left > time.Hour {
				t.Errorf("the answer expires in %v", left)
			}
		}
		expect("sb", 1)
		expect("sb2", 2)
		time.Sleep(4*time.Minute + 50*time.Second)
		expect("sb", 2)
		time.Sleep(15 * time.Second)
		expect("sb", 3)
	})
}

// A token that ends soon is replaced before it does.
func TestShortLivedToken(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBed(t, &forge{life: time.Minute}, grant("octo/app", broker.Read))
		for range 3 {
			if _, err := b.Get(t.Context(), "sb", "git.test", "octo/app", broker.Read); err != nil {
				t.Fatal(err)
			}
			time.Sleep(35 * time.Second)
		}
		if mints, _ := b.forge.state(); mints != 3 {
			t.Errorf("%d mints, want 3", mints)
		}
		b.end(t)
	})
}

// Ledger: GB-12: a closed boundary, and a grant that is taken away, end their
// tokens, also the one that is being minted, and whatever fails at first.
func TestRevocation(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBed(t, &forge{takes: time.Second, refuse: 3}, grant("octo/app", broker.Read), grant("octo/site", broker.Read))
		defer b.end(t)
		for _, path := range []string{"octo/app", "octo/site"} {
			if _, err := b.Get(t.Context(), "sb", "git.test", path, broker.Read); err != nil {
				t.Fatal(err)
			}
		}
		b.put(t, "sb", grant("octo/site", broker.Read))
		time.Sleep(time.Minute)
		if _, alive := b.forge.state(); alive != 1 {
			t.Errorf("%d tokens live after one of two grants is gone", alive)
		}
		b.put(t, "sb", grant("octo/site", broker.Write))
		time.Sleep(time.Minute)
		if _, alive := b.forge.state(); alive != 0 {
			t.Errorf("%d tokens of another access live", alive)
		}
		late := make(chan error)
		go func() {
			_, err := b.Get(t.Context(), "sb", "git.test", "octo/site", broker.Read)
			late <- err
		}()
		time.Sleep(500 * time.Millisecond)
		b.closeSandbox("sb")
		if err := <-late; !errors.Is(err, broker.ErrClosed) {
			t.Errorf("a token minted while its boundary closed: %v", err)
		}
		time.Sleep(time.Minute)
		if mints, alive := b.forge.state(); mints != 3 || alive != 0 {
			t.Errorf("%d mints, %d alive after the boundary has closed", mints, alive)
		}
		if n := b.count(broker.Revoked); n != 3 {
			t.Errorf("%d revocations recorded, want 3", n)
		}
		if _, err := b.Get(t.Context(), "sb", "git.test", "octo/site", broker.Read); !errors.Is(err, broker.ErrNotBrokered) {
			t.Errorf("a closed boundary: %v", err)
		}
	})
}

// A token that outlives an hour is ended by us.
func TestLongLivedToken(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBed(t, &forge{life: 48 * time.Hour}, grant("octo/app", broker.Read))
		defer b.end(t)
		if _, err := b.Get(t.Context(), "sb", "git.test", "octo/app", broker.Read); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour + time.Second)
		if _, alive := b.forge.state(); alive != 0 {
			t.Error("the token lives longer than an hour")
		}
	})
}

func TestCloseGivesUpInTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBed(t, &forge{refuse: 1000}, grant("octo/app", broker.Read))
		if _, err := b.Get(t.Context(), "sb", "git.test", "octo/app", broker.Read); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := b.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if b.count(broker.RevokeFailed) != 1 {
			t.Error("the failure isn't recorded")
		}
		if _, err := b.Get(t.Context(), "sb", "git.test", "octo/app", broker.Read); !errors.Is(err, broker.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// Case: D17, D23.
func TestErase(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBed(t, &forge{}, grant("octo/app", broker.Read))
		defer b.end(t)
		get := func() string {
			got, err := b.Get(t.Context(), "sb", "git.test", "octo/app", broker.Read)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(got.Password.Reveal())
			return hex.EncodeToString(sum[:])
		}
		first := get()
		b.Erase("sb", "git.test", "octo/app", first) // fresh: a replica may not know it yet
		if get() != first {
			t.Error("a fresh token is dropped")
		}
		time.Sleep(time.Minute)
		b.Erase("sb", "git.test", "octo/app", strings.Repeat("0", 64))
		b.Erase("sb", "git.test", "octo/other", first)
		b.Erase("other", "git.test", "octo/app", first)
		if get() != first {
			t.Error("a token is dropped for another one's sake")
		}
		b.Erase("sb", "git.test", "octo/app", first)
		if get() == first {
			t.Error("the refused token is served again")
		}
	})
}

// Ledger: GB-12.
func TestMintsAreLimited(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var grants []broker.Grant
		for i := range 30 {
			grants = append(grants, grant(fmt.Sprintf("octo/r%d", i), broker.Read))
		}
		b := newBed(t, &forge{}, grants...)
		defer b.end(t)
		refused := 0
		for i := range 30 {
			if _, err := b.Get(t.Context(), "sb", "git.test", fmt.Sprintf("octo/r%d", i), broker.Read); errors.Is(err, broker.ErrTooMany) {
				refused++
			}
		}
		if refused != 10 {
			t.Errorf("%d of 30 refused, want 10", refused)
		}
		time.Sleep(5 * time.Second)
		if _, err := b.Get(t.Context(), "sb", "git.test", "octo/r29", broker.Read); err != nil {
			t.Errorf("after a while: %v", err)
		}
	})
}

// Case: D24: a limit of the forge holds for all sandboxes; a short one is
// waited for.
func TestRateLimitOfTheForge(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := &forge{fail: func(n int) error {
			switch n {
			case 1:
				return &broker.RateLimitError{After: 2 * time.Second}
			case 3:
				return &broker.RateLimitError{After: time.Minute}
			}
			return nil
		}}
		b := newBed(t, f, grant("octo/app", broker.Read))
		b.put(t, "sb2", grant("octo/app", broker.Read))
		b.put(t, "sb3", grant("octo/app", broker.Read))
		defer b.end(t)
		if _, err := b.Get(t.Context(), "sb", "git.test", "octo/app", broker.Read); err != nil {
			t.Errorf("a short wait: %v", err)
		}
		for _, id := range []string{"sb2", "sb3"} {
			var limited *broker.RateLimitError
			if _, err := b.Get(t.Context(), id, "git.test", "octo/app", broker.Read); !errors.As(err, &limited) {
				t.Errorf("%s: %v", id, err)
			}
		}
		if mints, _ := f.state(); mints != 3 {
			t.Errorf("the forge was asked %d times, want 3", mints)
		}
		time.Sleep(time.Minute + time.Second)
		if _, err := b.Get(t.Context(), "sb3", "git.test", "octo/app", broker.Read); err != nil {
			t.Errorf("after the wait: %v", err)
		}
	})
}

// Case: D21: a refusal is asked for once.
func TestRefusalIsRemembered(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := &forge{fail: func(int) error { return fmt.Errorf("%w: no such permission", broker.ErrRefused) }}
		b := newBed(t, f, grant("octo/app", broker.Read))
		defer b.end(t)
		for range 10 {
			if _, err := b.Get(t.Context(), "sb", "git.test", "octo/app", broker.Read); !errors.Is(err, broker.ErrRefused) {
				t.Fatal(err)
			}
		}
		if mints, _ := f.state(); mints != 1 {
			t.Errorf("asked %d times", mints)
		}
	})
}

// Case: D14.
func TestRepositoryThatMoved(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBed(t, &forge{moved: map[string]string{"octo/old": "octo/new"}}, grant("octo/old", broker.Read), grant("octo/app", broker.Read))
		defer b.end(t)
		got, err := b.Get(t.Context(), "sb", "git.test", "octo/new.git", broker.Read)
		if err != nil || got.Grant.Repository.String() != "octo/old" {
			t.Errorf("the new name of a granted repository: %v, %v", got.Grant, err)
		}
		if _, err := b.Get(t.Context(), "sb", "git.test", "octo/elsewhere", broker.Read); !errors.Is(err, broker.ErrNotGranted) {
			t.Errorf("another name: %v", err)
		}
		if mints, _ := b.forge.state(); mints != 1 {
			t.Errorf("%d mints, want 1", mints)
		}
	})
}

// A grant can't send one forge's credential to another.
func TestIssuerOfAnotherHost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBed(t, &forge{}, broker.Grant{Repository: "octo/app", Host: "evil.test", Issuer: "forge"},
			broker.Grant{Repository: "octo/app", Host: "git.test", Issuer: "unknown"})
		defer b.end(t)
		for _, host := range []string{"evil.test", "git.test"} {
			if _, err := b.Get(t.Context(), "sb", host, "octo/app", broker.Read); !errors.Is(err, broker.ErrMisconfigured) {
				t.Errorf("%s: %v", host, err)
			}
		}
		if mints, _ := b.forge.state(); mints != 0 {
			t.Error("a token was minted")
		}
	})
}
