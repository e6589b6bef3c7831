package github_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/broker/github"
	"github.com/sallyport/sallyport/broker/github/githubtest"
	"github.com/sallyport/sallyport/broker/issuertest"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

var appKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func pkcs1(key *rsa.PrivateKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// config is that of an installation with three repositories.
func config() githubtest.Config {
	return githubtest.Config{
		Prefix: "/api/v3", AppID: "Iv1.client", Key: &appKey().PublicKey, Installation: 77,
		Permissions: map[string]string{"metadata": "read", "contents": "write", "pull_requests": "write"},
		Repositories: []githubtest.Repository{
			{ID: 1, Owner: "Octo", Name: "App"},
			{ID: 2, Owner: "octo", Name: "other"},
			{ID: 3, Owner: "octo", Name: "new-name", Was: []string{"octo/old-name"}},
		},
	}
}

// start serves the API, and returns an issuer of it. Options are changed last.
func start(t *testing.T, c githubtest.Config, change func(*github.Options)) (*github.Issuer, *githubtest.Server) {
	t.Helper()
	api := githubtest.New(c)
	server := httptest.NewTLSServer(api)
	t.Cleanup(server.Close)
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	}
	host, err := policy.CanonicalHost("example.com") // which the test certificate is for
	if err != nil {
		t.Fatal(err)
	}
	o := github.Options{
		Host: host, AppID: c.AppID, Transport: transport,
		Key: func(context.Context) (secret.Secret, error) {
			return secret.Secret{Value: secret.NewValue(pkcs1(appKey()))}, nil
		},
	}
	if change != nil {
		change(&o)
	}
	issuer, err := github.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return issuer, api
}

func request(t *testing.T, path string, access broker.Access) broker.Request {
	t.Helper()
	r, err := broker.CanonicalRepository(path)
	if err != nil {
		t.Fatal(err)
	}
	return broker.Request{Repository: r, Access: access}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	issuertest.Run(t, func(t *testing.T) issuertest.Fixture {
		issuer, api := start(t, config(), nil)
		return issuertest.Fixture{
			Issuer: issuer, Granted: "octo/app", Other: "octo/other", Missing: "octo/missing",
			Allows: func(c broker.Credential, repository string) broker.Access {
				return broker.Access(api.Allows(string(c.Password.Reveal()), repository))
			},
		}
	})
}

// Ledger: GB-6, GB-10.
func TestTokenIsForOneRepository(t *testing.T) {
	t.Parallel()
	cases := []struct {
		access broker.Access
		extra  []string
		want   string
	}{
		{broker.Read, []string{"pull_requests"}, "contents:read metadata:read"},
		{broker.Write, nil, "contents:write metadata:read"},
		{broker.Write, []string{"pull_requests"}, "contents:write metadata:read pull_requests:write"},
	}
	for _, c := range cases {
		issuer, api := start(t, config(), func(o *github.Options) { o.Extra = c.extra })
		if _, err := issuer.Issue(t.Context(), request(t, "octo/app", c.access)); err != nil {
			t.Fatal(err)
		}
		mints := api.Mints()
		if len(mints) != 1 || len(mints[0].Repositories) != 1 || mints[0].Repositories[0] != "app" || len(mints[0].RepositoryIDs) > 0 {
			t.Fatalf("asked for %+v", mints)
		}
		for _, pair := range strings.Fields(c.want) {
			name, level, _ := strings.Cut(pair, ":")
			if mints[0].Permissions[name] != level {
				t.Errorf("%s with %q: asked for %v, want %s", c.access, c.extra, mints[0].Permissions, c.want)
			}
		}
		if len(mints[0].Permissions) != len(strings.Fields(c.want)) {
			t.Errorf("%s with %q: asked for %v, want %s", c.access, c.extra, mints[0].Permissions, c.want)
		}
	}
}

// Ledger: GB-6: what GitHub grants beyond what was asked for reaches nobody.
func TestReturnedScopeIsVerified(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		widen func(*githubtest.Token)
	}{
		{"another repository besides", func(k *githubtest.Token) {
			k.Repositories = append(k.Repositories, githubtest.Repository{ID: 2, Owner: "octo", Name: "other"})
		}},
		{"another repository instead", func(k *githubtest.Token) {
			k.Repositories = []githubtest.Repository{{ID: 2, Owner: "octo", Name: "other"}}
		}},
		{"none", func(k *githubtest.Token) { k.Repositories = nil }},
		{"another owner's", func(k *githubtest.Token) { k.Repositories[0].Owner = "victim" }},
		{"more access", func(k *githubtest.Token) {
			k.Permissions = map[string]string{"contents": "write", "metadata": "read"}
		}},
		{"another permission", func(k *githubtest.Token) {
			k.Permissions = map[string]string{"contents": "read", "metadata": "read", "actions": "read"}
		}},
		{"less access", func(k *githubtest.Token) { k.Permissions = map[string]string{"metadata": "read"} }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conf := config()
			conf.Widen = c.widen
			issuer, api := start(t, conf, nil)
			got, err := issuer.Issue(t.Context(), request(t, "octo/app", broker.Read))
			if !errors.Is(err, broker.ErrMisconfigured) || !got.Password.IsEmpty() {
				t.Errorf("error %v", err)
			}
			if len(api.Mints()) != 1 || len(api.Alive()) != 0 {
				t.Errorf("mints %d, alive %q: the token isn't revoked", len(api.Mints()), api.Alive())
			}
		})
	}
}

// Case: D14.
func TestRepositoryThatHasMoved(t *testing.T) {
	t.Parallel()
	issuer, api := start(t, config(), nil)
	got, err := issuer.Issue(t.Context(), request(t, "octo/old-name", broker.Read))
	if err != nil || got.Repository.String() != "octo/new-name" {
		t.Fatalf("got %v, %v", got.Repository, err)
	}
	if m := api.Mints()[0]; len(m.Repositories) != 0 || len(m.RepositoryIDs) != 1 || m.RepositoryIDs[0] != 3 {
		t.Errorf("asked for %+v, want the repository by its id", m)
	}
	for path, want := range map[string]bool{"octo/old-name": true, "octo/new-name": false, "octo/app": false} {
		moved, err := issuer.Moved(t.Context(), request(t, path, broker.Read).Repository)
		if err != nil || moved != want {
			t.Errorf("%s: moved %v, %v, want %v", path, moved, err, want)
		}
	}
}

// Case: D25.
func TestClockSkew(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-15 * time.Minute, -90 * time.Second, -50 * time.Second, 50 * time.Second, 90 * time.Second, 15 * time.Minute} {
		conf := config()
		conf.Now = func() time.Time { return time.Now().Add(-ahead) } // our clock is ahead of theirs
		issuer, _ := start(t, conf, nil)
		if _, err := issuer.Issue(t.Context(), request(t, "octo/app", broker.Read)); err != nil {
			t.Errorf("%v ahead: %v", ahead, err)
		}
	}
}

// Case: D23.
func TestFreshTokenIsRefusedForAMoment(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	probes := 0
	conf := config()
	conf.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, ".git/info/refs") {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		if probes++; probes < 3 {
			w.WriteHeader(http.StatusNotFound)
		}
		return true
	}
	issuer, api := start(t, conf, nil)
	if _, err := issuer.Issue(t.Context(), request(t, "octo/app", broker.Read)); err != nil {
		t.Fatal(err)
	}
	if probes != 3 || len(api.Mints()) != 1 {
		t.Errorf("%d probes, %d mints; want 3 and 1", probes, len(api.Mints()))
	}
}

// Case: D28.
func TestTokensAreOpaque(t *testing.T) {
	t.Parallel()
	long := "ghs_123456_" + strings.Repeat("eyJ-._x", 214)
	conf := config()
	conf.NewToken = func(int) string { return long }
	issuer, _ := start(t, conf, nil)
	got, err := issuer.Issue(t.Context(), request(t, "octo/app", broker.Read))
	if err != nil || string(got.Password.Reveal()) != long {
		t.Errorf("token of %d bytes, %v; want %d", len(got.Password.Reveal()), err, len(long))
	}
}
