package vault_test

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/vault"
)

// serve runs s until the returned function is called, which waits for its end.
func serve(t *testing.T, s *vault.Source) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, slog.New(slog.DiscardHandler)) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// Case: C22
func TestTokenOutlivesItsMaximum(t *testing.T) {
	t.Parallel()
	b := open(t)
	name, settings := withSecret(t, b)
	settings["token_ttl"], settings["token_max_ttl"] = "3s", "6s"
	o := b.options
	o.Auth = b.appRole(t, false, settings)
	s := source(t, o)
	serve(t, s)
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		requireValue(t, s, name, "v")
	}
	if b.fake == nil {
		return
	}
	logins, renewals := b.fake.Count("auth/approle/login"), b.fake.Count("auth/token/renew-self")
	if logins < 2 || logins > 4 || renewals < 2 {
		t.Errorf("%d logins, %d renewals", logins, renewals)
	}
	for _, e := range b.fake.Audit() {
		if e.Status == 403 {
			t.Errorf("%s was refused: the token was used past its end", e.Path)
		}
	}
}

// Case: C22: no renewal, no warning, the token is simply dead.
func TestDeadTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	b := openFake(t)
	name, settings := withSecret(t, b)
	o := b.options
	o.Auth = b.appRole(t, false, settings)
	o.BoundaryTokens = true
	s := source(t, o)
	ctx := within(t, "box-1")
	read := func() {
		t.Helper()
		if _, err := s.Read(ctx, name); err != nil {
			t.Error(err)
		}
	}
	read()
	b.fake.RevokeTokens()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(read)
	}
	wg.Wait()
	if n := b.fake.Count("auth/approle/login"); n != 2 {
		t.Errorf("%d logins, want 2", n)
	}
}

func within(t *testing.T, boundary string) context.Context {
	return secret.Within(t.Context(), &secret.Scope{Boundary: boundary})
}

// database mounts an engine that issues leases.
func (b backend) database(t *testing.T, ttl, maximum string) {
	t.Helper()
	err := b.root.Sys().Mount("database", &api.MountInput{
		Type: "database", Config: api.MountConfigInput{DefaultLeaseTTL: ttl, MaxLeaseTTL: maximum},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, s *vault.Source, ctx context.Context, name string) secret.Secret {
	t.Helper()
	got, err := s.Read(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestLeasesAreOfOneBoundary(t *testing.T) {
	t.Parallel()
	b := openFake(t)
	b.database(t, "1h", "2h")
	s := source(t, b.options)
	one, two := within(t, "box-1"), within(t, "box-2")
	user, password := read(t, s, one, "database/creds/app#username"), read(t, s, one, "database/creds/app#password")
	again := read(t, s, one, "database/creds/app#password")
	other := read(t, s, two, "database/creds/app#password")
	if user.Version != password.Version || again.Version != user.Version {
		t.Error("one boundary was issued more than one lease")
	}
	if string(again.Value.Reveal()) != string(password.Value.Reveal()) {
		t.Error("the second read issued another password")
	}
	if other.Version == user.Version {
		t.Error("two boundaries share a lease")
	}
	if password.Expires.IsZero() || time.Until(password.Expires) > time.Hour {
		t.Errorf("expires %v", password.Expires)
	}
	// Ledger: SI-16: what the operator revokes isn't used on.
	b.fake.RevokeLeases()
	if now := read(t, s, one, "database/creds/app#password"); now.Version == user.Version {
		t.Error("a revoked lease is used on")
	}
	if _, err := s.Read(one, "database/creds/app#absent"); err == nil {
		t.Error("a field that isn't there was read")
	}
}

func TestLeasesAreRenewedAndReplaced(t *testing.T) {
	t.Parallel()
	b := openFake(t)
	b.database(t, "3s", "6s")
	s := source(t, b.options)
	serve(t, s)
	ctx := within(t, "box-1")
	versions := map[string]bool{}
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		got := read(t, s, ctx, "database/creds/app#password")
		if !time.Now().Before(got.Expires) {
			t.Error("a lease at its end was handed out")
		}
		versions[got.Version] = true
	}
	if len(versions) != 2 {
		t.Errorf("%d leases in 8 s of at most 6 s each", len(versions))
	}
	if b.fake.Count("sys/leases/renew") == 0 {
		t.Error("nothing was renewed")
	}
}

// What a closed boundary was issued is revoked, also if the server is away
// just then; the end of Serve revokes the rest.
func TestClosedBoundaryIsRevoked(t *testing.T) {
	t.Parallel()
	for _, tokens := range []bool{false, true} {
		b := openFake(t)
		b.database(t, "1h", "2h")
		_, settings := withSecret(t, b)
		settings["token_policies"] = b.policy(t, "database/*", "auth/token/create", "sys/leases/revoke")
		o := b.options
		o.Auth = b.appRole(t, false, settings)
		o.BoundaryTokens = tokens
		var mu sync.Mutex
		opened := map[string]bool{"box-1": true, "box-2": true}
		o.Open = func(id string) bool {
			mu.Lock()
			defer mu.Unlock()
			return opened[id]
		}
		s := source(t, o)
		stop := serve(t, s)
		for id := range maps.Keys(opened) {
			read(t, s, within(t, id), "database/creds/app#password")
		}
		if n := b.fake.Leases(); n != 2 {
			t.Fatalf("%d leases", n)
		}
		b.fake.Seal(true)
		mu.Lock()
		delete(opened, "box-1")
		mu.Unlock()
		time.Sleep(1500 * time.Millisecond) // a tick, in vain
		b.fake.Seal(false)
		eventually(t, "the closed boundary's lease is revoked", func() bool { return b.fake.Leases() == 1 })
		stop()
		if n := b.fake.Leases(); n != 0 {
			t.Errorf("%d leases are left at the end", n)
		}
		last := b.fake.Audit()
		if e := last[len(last)-1]; e.Path != "auth/token/revoke-self" {
			t.Errorf("the last request is %s, want the token's own end", e.Path)
		}
	}
}

func TestAuditShowsTheBoundary(t *testing.T) {
	t.Parallel()
	b := openFake(t)
	name, settings := withSecret(t, b)
	o := b.options
	o.Auth = b.appRole(t, false, settings)
	o.BoundaryTokens = true
	s := source(t, o)
	for _, id := range []string{"box-1", "box-2"} {
		read(t, s, within(t, id), name)
		shown := slices.ContainsFunc(b.fake.Audit(), func(e auditEntry) bool {
			return e.Path[:3] == "kv-" && e.Boundary == id && e.Metadata["sallyport_boundary"] == id
		})
		if !shown {
			t.Errorf("no entry shows %s", id)
		}
	}
}
