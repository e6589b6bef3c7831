package keyring_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/keyring"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/store"
)

const value = "c4nary-Zq81+of-the-keyring"

var api = []inject.Template{{Host: "api.example.com"}}

func open(t *testing.T) (*keyring.Keyring, *store.Store, string) {
	t.Helper()
	dir := t.TempDir()
	s := store.New(dir)
	return keyring.New(dir, s), s, dir
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func read(t *testing.T, s *store.Store, b inject.Binding) string {
	t.Helper()
	ref := must[secret.Ref](t)(secret.ParseRef(b.Secret))
	return string(must[secret.Secret](t)(s.Read(t.Context(), ref.Name)).Value.Reveal())
}

// Ledger: SI-19, SI-21
func TestProjectGoesBeforeOrganisation(t *testing.T) {
	t.Parallel()
	k, s, _ := open(t)
	put := must[keyring.Credential](t)
	put(k.Put(t.Context(), keyring.Collection{Org: "acme"}, "STRIPE", []byte(value+"-org"), api))
	put(k.Put(t.Context(), keyring.Collection{Org: "acme"}, "ONLY_ORG", []byte(value+"-only"), []inject.Template{{Host: "other.example.com", Header: "X-Key"}}))
	put(k.Put(t.Context(), keyring.Collection{Org: "acme", Project: "web"}, "STRIPE", []byte(value+"-web"), api))
	put(k.Put(t.Context(), keyring.Collection{Org: "rival"}, "THEIRS", []byte(value+"-theirs"), api))
	cases := []struct{ project, name, want string }{
		{"web", "STRIPE", value + "-web"},
		{"app", "STRIPE", value + "-org"},
		{"", "STRIPE", value + "-org"},
		{"web", "ONLY_ORG", value + "-only"},
	}
	for _, c := range cases {
		got := must[[]inject.Binding](t)(k.Resolve(keyring.Wanted{Org: "acme", Project: c.project, Env: map[string]string{"KEY": c.name}}))
		if len(got) != 1 || got[0].Env != "KEY" || read(t, s, got[0]) != c.want {
			t.Errorf("%s in %q: %+v", c.name, c.project, got)
		}
	}
	for _, name := range []string{"THEIRS", "stripe", "", "../STRIPE"} {
		_, err := k.Resolve(keyring.Wanted{Org: "acme", Project: "web", Env: map[string]string{"KEY": name}})
		var missing *keyring.MissingError
		if !errors.As(err, &missing) || missing.Name != name {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Ledger: SI-26, SI-29
func TestVaults(t *testing.T) {
	t.Parallel()
	k, s, dir := open(t)
	web := must[keyring.Vault](t)(k.CreateVault("acme", "web", "deploy"))
	shared := must[keyring.Vault](t)(k.CreateVault("acme", "", "deploy"))
	foreign := must[keyring.Vault](t)(k.CreateVault("rival", "", "deploy"))
	if _, err := k.CreateVault("acme", "web", "deploy"); !errors.Is(err, keyring.ErrConflict) {
		t.Errorf("the same again: %v", err)
	}
	put := must[keyring.Credential](t)
	for _, v := range []keyring.Vault{web, shared, foreign} {
		put(k.Put(t.Context(), keyring.Collection{Vault: v.ID}, "TOKEN_"+strings.ToUpper(v.Org), []byte(value+v.ID), []inject.Template{{Host: v.ID[4:12] + ".example.com"}}))
	}
	again := keyring.New(dir, s) // as after a restart
	got := must[[]inject.Binding](t)(again.Resolve(keyring.Wanted{Org: "acme", Project: "web", Vaults: []string{web.ID, shared.ID, web.ID}}))
	if len(got) != 2 {
		t.Fatalf("%d bindings of two vaults", len(got))
	}
	for _, b := range got {
		if v := read(t, s, b); v != value+web.ID && v != value+shared.ID {
			t.Errorf("another value")
		}
	}
	refused := []keyring.Wanted{
		{Org: "acme", Project: "web", Vaults: []string{foreign.ID}},
		{Org: "acme", Project: "app", Vaults: []string{web.ID}},
		{Org: "acme", Vaults: []string{web.ID}},
		{Org: "acme", Vaults: []string{"vlt_none"}},
	}
	for _, w := range refused {
		if _, err := again.Resolve(w); !errors.Is(err, keyring.ErrNotFound) {
			t.Errorf("%+v: %v", w, err)
		}
	}
	if err := again.DeleteVault(t.Context(), web.ID); err != nil {
		t.Fatal(err)
	}
	for _, b := range got {
		ref := must[secret.Ref](t)(secret.ParseRef(b.Secret))
		if _, err := s.Read(t.Context(), ref.Name); b.Env == "TOKEN_ACME" && errors.Is(err, secret.ErrNotFound) {
			return
		}
	}
	t.Error("the values of a deleted vault are still there")
}

// Nothing but the store has the value, and that sealed. Ledger: SI-24, SI-25
func TestValuesStayInside(t *testing.T) {
	t.Parallel()
	k, _, dir := open(t)
	in := keyring.Collection{Org: "acme"}
	first := must[keyring.Credential](t)(k.Put(t.Context(), in, "TOKEN", []byte(value), api))
	second := must[keyring.Credential](t)(k.Put(t.Context(), in, "TOKEN", []byte(value+"2"), nil))
	if first.Version == second.Version || len(second.Bindings) != 1 {
		t.Errorf("versions %q and %q, bindings %v", first.Version, second.Version, second.Bindings)
	}
	list := must[[]keyring.Credential](t)(k.List(in))
	shown := must[[]byte](t)(json.Marshal(list))
	if len(list) != 1 || bytes.Contains(shown, []byte("c4nary")) {
		t.Errorf("list %s", shown)
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("c4nary")) {
			t.Errorf("%s holds the value", path)
		}
		if info, _ := d.Info(); info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Delete(t.Context(), in, "TOKEN"); err != nil {
		t.Fatal(err)
	}
	third := must[keyring.Credential](t)(k.Put(t.Context(), in, "TOKEN", []byte(value), api))
	if third.Version <= second.Version {
		t.Errorf("version %s after %s", third.Version, second.Version)
	}
}

// Ledger: SI-13, SI-14, SI-29
func TestLimits(t *testing.T) {
	t.Parallel()
	k, _, _ := open(t)
	in := keyring.Collection{Org: "acme"}
	cases := []struct {
		name     string
		value    []byte
		bindings []inject.Template
	}{
		{"", []byte("v"), api},
		{"a-b", []byte("v"), api},
		{"0A", []byte("v"), api},
		{strings.Repeat("A", 129), []byte("v"), api},
		{"A", nil, api},
		{"A", []byte{}, api},
		{"A", bytes.Repeat([]byte("v"), secret.MaxValue+1), api},
		{"A", []byte("a\x00b"), api},
		{"A", []byte("v"), nil},
		{"A", []byte("v"), []inject.Template{{Host: "*.example.com"}}},
		{"A", []byte("v"), []inject.Template{{Host: "a.example.com", Header: "Host"}}},
		{"A", []byte("v"), []inject.Template{{Host: "a.example.com"}, {Host: "a.example.com"}}},
	}
	for _, c := range cases {
		_, err := k.Put(t.Context(), in, c.name, c.value, c.bindings)
		var refused *keyring.InvalidError
		if !errors.As(err, &refused) {
			t.Errorf("%.20q, %d bytes, %v: %v", c.name, len(c.value), c.bindings, err)
		}
	}
	v := must[keyring.Vault](t)(k.CreateVault("acme", "", "full"))
	for i := range keyring.MaxPerVault + 1 {
		_, err := k.Put(t.Context(), keyring.Collection{Vault: v.ID}, fmt.Sprintf("N%d", i), []byte("v"), []inject.Template{{Host: fmt.Sprintf("h%d.example.com", i)}})
		if (err != nil) != (i == keyring.MaxPerVault) {
			t.Errorf("credential %d: %v", i, err)
		}
	}
	vaults := make([]string, keyring.MaxVaults+1)
	for _, w := range []keyring.Wanted{{}, {Org: "a/b"}, {Org: "acme", Vaults: vaults}, {Org: "acme", Env: map[string]string{"bad-env": "X"}}} {
		if _, err := k.Resolve(w); err == nil {
			t.Errorf("%+v was resolved", w)
		}
	}
	for _, text := range []string{"", "org", "org:", "org:a:b", "project:a", "vault:", "vault:a/b", "x:y", "project:a:b:c"} {
		if c, err := keyring.ParseCollection(text); err == nil {
			t.Errorf("%q is %v", text, c)
		}
	}
	for _, text := range []string{"org:a", "project:a:b", "vault:vlt_x"} {
		if c, err := keyring.ParseCollection(text); err != nil || c.String() != text {
			t.Errorf("%q became %v, %v", text, c, err)
		}
	}
}
