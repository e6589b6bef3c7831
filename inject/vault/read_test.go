package vault_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/secret/secrettest"
	"github.com/sallyport/sallyport/inject/vault"
)

// Ledger: SI-16, SI-22
func TestSource(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1", "2"} {
		t.Run("kv"+version, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			secrettest.Run(t, func(t *testing.T) secrettest.Fixture {
				at := b.mount(t, version)
				// The mount of the second version needs a moment.
				b.put(t, at, version, "warm", map[string]any{"k": "v"})
				path := func(name string) string {
					return strings.TrimSuffix(strings.TrimPrefix(name, at+"/"), "#token")
				}
				return secrettest.Fixture{
					Source:    source(t, b.options),
					Names:     [2]string{at + "/team/app#token", at + "/team/other#token"},
					Malformed: []string{at, at + "#token", at + "/a", at + "/a#", at + "/../sys#k", at + "//a#k", "sys/mounts#k", at + "/a%2f#k"},
					Set: func(t *testing.T, name, value string) {
						b.put(t, at, version, path(name), map[string]any{"token": value, "beside": "x"})
					},
					Remove: func(t *testing.T, name string) { b.remove(t, at, version, path(name)) },
				}
			})
		})
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	b := open(t)
	at := b.mount(t, "2")
	b.put(t, at, "2", "app", map[string]any{"text": "a", "number": 12345678901, "list": []string{"x"}, "none": nil, "empty": "", "with#hash": "h"})
	s := source(t, b.options)
	requireValue(t, s, at+"/app#text", "a")
	requireValue(t, s, at+"/app#number", "12345678901")
	requireError(t, s, at+"/app#list", secret.ErrUnavailable)
	requireError(t, s, at+"/app#none", secret.ErrUnavailable)
	requireError(t, s, at+"/app#empty", secret.ErrUnavailable)
	requireError(t, s, at+"/app#absent", secret.ErrNotFound)
}

// Another engine under a name that was read before: the next read asks again
// which it is.
func TestMountIsReplaced(t *testing.T) {
	t.Parallel()
	b := open(t)
	at := b.mount(t, "1")
	b.put(t, at, "1", "app", map[string]any{"k": "first"})
	s := source(t, b.options)
	requireValue(t, s, at+"/app#k", "first")
	if err := b.root.Sys().Unmount(at); err != nil {
		t.Fatal(err)
	}
	requireError(t, s, at+"/app#k", secret.ErrDenied) // Vault's answer to a path that isn't there
	if err := b.root.Sys().Mount(at, mountInput("2")); err != nil {
		t.Fatal(err)
	}
	b.put(t, at, "2", "app", map[string]any{"k": "second"})
	requireValue(t, s, at+"/app#k", "second")
}

// Ledger: SI-22
func TestPolicyDecides(t *testing.T) {
	t.Parallel()
	b := open(t)
	at := b.mount(t, "2")
	b.put(t, at, "2", "mine", map[string]any{"k": "v"})
	b.put(t, at, "2", "theirs", map[string]any{"k": "v"})
	o := b.options
	o.Auth = b.appRole(t, false, map[string]any{"token_policies": b.policy(t, at+"/data/mine")})
	s := source(t, o)
	requireValue(t, s, at+"/mine#k", "v")
	requireError(t, s, at+"/theirs#k", secret.ErrDenied)
	requireValue(t, s, at+"/mine#k", "v")
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	b := openFake(t)
	at := b.mount(t, "2")
	b.put(t, at, "2", "app", map[string]any{"k": "v"})
	b.fake.RequireNamespace("team/a")
	requireError(t, source(t, b.options), at+"/app#k", secret.ErrNotFound)
	o := b.options
	o.Namespace = "team/a"
	requireValue(t, source(t, o), at+"/app#k", "v")
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	good := vault.Options{Address: "https://vault.test:8200", Auth: vault.Auth{Method: vault.AuthToken, Token: "t"}}
	cases := map[string]func(*vault.Options){
		"no address":          func(o *vault.Options) { o.Address = "" },
		"address with a path": func(o *vault.Options) { o.Address = "https://vault.test/v1" },
		"other scheme":        func(o *vault.Options) { o.Address = "unix:///x" },
		"user in address":     func(o *vault.Options) { o.Address = "https://u:p@vault.test" },
		"no method":           func(o *vault.Options) { o.Auth.Method = "" },
		"two tokens":          func(o *vault.Options) { o.Auth.TokenFile = "/f" },
		"no token":            func(o *vault.Options) { o.Auth.Token = "" },
		"key without cert":    func(o *vault.Options) { o.TLS.KeyFile = "/f" },
		"role without id":     func(o *vault.Options) { o.Auth = vault.Auth{Method: vault.AuthAppRole, SecretIDFile: "/f"} },
		"jwt without a file":  func(o *vault.Options) { o.Auth = vault.Auth{Method: vault.AuthJWT, Role: "r"} },
		"cert without one":    func(o *vault.Options) { o.Auth = vault.Auth{Method: vault.AuthCert} },
	}
	if _, err := vault.New(good); err != nil {
		t.Error(err)
	}
	for name, spoil := range cases {
		o := good
		spoil(&o)
		if _, err := vault.New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
