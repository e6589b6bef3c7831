package vault_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/vault"
	"github.com/sallyport/sallyport/inject/vault/vaulttest"
)

type auditEntry = vaulttest.Entry

// canary is what a server's answer must not bring into an error.
const canary = "c4nary-Zq81"

func answer(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"errors":["` + canary + `"]}`))
	}
}

// Each way to fail has its outcome, and none outlasts its cause.
//
// Case: C24
// Ledger: SI-11
func TestFaults(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	cases := []struct {
		name  string
		fault http.HandlerFunc
		want  error
	}{
		{"sealed", answer(503), secret.ErrUnavailable},
		{"rate limit", answer(429), secret.ErrUnavailable},
		{"rate limit for long", answer(429, "Retry-After", "60"), secret.ErrUnavailable},
		{"disaster recovery standby", answer(472), secret.ErrUnavailable},
		{"performance standby", answer(473), secret.ErrUnavailable},
		{"not initialised", answer(501), secret.ErrUnavailable},
		{"server error", answer(500), secret.ErrUnavailable},
		{"bad gateway", answer(502), secret.ErrUnavailable},
		{"bad request", answer(400), secret.ErrUnavailable},
		{"denied", answer(403), secret.ErrDenied},
		{"not found", answer(404), secret.ErrNotFound},
		{"hangs", func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}, secret.ErrUnavailable},
		{"not JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>" + canary)) }, secret.ErrUnavailable},
		{"empty", func(http.ResponseWriter, *http.Request) {}, nil},
		{"aborts", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, secret.ErrUnavailable},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := openFake(t)
			name, settings := withSecret(t, b)
			o := b.options
			o.Auth = b.appRole(t, false, settings)
			o.Timeout = 3 * time.Second
			s := source(t, o)
			requireValue(t, s, name, "v")
			b.fake.Fail(1000, c.fault)
			began := time.Now()
			_, err := s.Read(t.Context(), name)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), canary) {
				t.Errorf("the error quotes the server: %v", err)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("took %v", took)
			}
			b.fake.Recover()
			eventually(t, "it recovers by itself", func() bool {
				_, err := s.Read(t.Context(), name)
				return err == nil
			})
		})
	}
}

// A fault that is over within the retries is no fault.
func TestPassingFaultIsRetried(t *testing.T) {
	t.Parallel()
	b := openFake(t)
	name, _ := withSecret(t, b)
	s := source(t, b.options)
	b.fake.Fail(2, answer(503))
	requireValue(t, s, name, "v")
	b.fake.Fail(1, answer(429, "Retry-After", "1"))
	requireValue(t, s, name, "v")
}

func TestServerIsDown(t *testing.T) {
	t.Parallel()
	down := httptest.NewServer(nil)
	address := down.URL
	down.Close()
	o := vault.Options{Address: address, Auth: vault.Auth{Method: vault.AuthToken, Token: "t"}}
	requireError(t, source(t, o), "kv/app#k", secret.ErrUnavailable)
	o.TLS.CAFile = "/does/not/exist"
	requireError(t, source(t, o), "kv/app#k", secret.ErrUnavailable)
}

// The server's certificate is checked.
func TestUntrustedServer(t *testing.T) {
	t.Parallel()
	b := openFake(t)
	name, _ := withSecret(t, b)
	o := b.options
	o.TLS.CAFile = ""
	requireError(t, source(t, o), name, secret.ErrUnavailable)
	o = b.options
	o.TLS.ServerName = "another.test"
	requireError(t, source(t, o), name, secret.ErrUnavailable)
}

// A standby may send us to the active node, and nobody to anywhere else.
//
// Case: C24
func TestRedirects(t *testing.T) {
	t.Parallel()
	b := openFake(t)
	name, _ := withSecret(t, b)
	var tokens atomic.Int32
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Vault-Token") != "" {
			tokens.Add(1)
		}
	}))
	t.Cleanup(other.Close)
	to := func(target string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, target+r.URL.Path, http.StatusTemporaryRedirect)
		}
	}
	s := source(t, b.options)
	requireValue(t, s, name, "v")
	b.fake.Fail(1, to(other.URL))
	requireError(t, s, name, secret.ErrUnavailable)
	b.fake.Fail(1, to("http://"+strings.TrimPrefix(b.fake.URL, "https://")))
	requireError(t, s, name, secret.ErrUnavailable)
	if n := tokens.Load(); n != 0 {
		t.Errorf("another host got the token %d times", n)
	}
	requireValue(t, s, name, "v")
	b.fake.Fail(1, to(b.fake.URL))
	requireValue(t, s, name, "v")
	// One that is allowed is followed, and gets it.
	active := vaulttest.Start(t)
	o := b.options
	o.RedirectHosts = []string{strings.TrimPrefix(active.URL, "https://")}
	s = source(t, o)
	requireValue(t, s, name, "v")
	b.fake.Fail(1, to(active.URL))
	_, err := s.Read(t.Context(), name)
	if !errors.Is(err, secret.ErrDenied) && !errors.Is(err, secret.ErrUnavailable) {
		t.Errorf("the other server knows no such token, error %v", err)
	}
	if active.Count("") == 0 {
		t.Error("an allowed host was not asked")
	}
}

// Ledger: SI-22
func TestConcurrentReadsLogInOnce(t *testing.T) {
	t.Parallel()
	b := openFake(t)
	name, settings := withSecret(t, b)
	o := b.options
	o.Auth = b.appRole(t, false, settings)
	s := source(t, o)
	done := make(chan error, 50)
	for range cap(done) {
		go func() {
			_, err := s.Read(context.WithoutCancel(t.Context()), name)
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := b.fake.Count("auth/approle/login"); n != 1 {
		t.Errorf("%d logins", n)
	}
}
