package vault_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/sallyport/sallyport/inject/vault"
	"github.com/sallyport/sallyport/inject/vault/vaulttest"
)

// backend is a server under test: the one of vaulttest or, if VAULT_ADDR is
// set, a real one in development mode, whose root token is in VAULT_TOKEN.
type backend struct {
	options vault.Options // with the root token
	root    *api.Client
	fake    *vaulttest.Server // nil: a real one
}

func open(t *testing.T) backend {
	t.Helper()
	if address := os.Getenv("VAULT_ADDR"); address != "" {
		ca, token := os.Getenv("VAULT_CACERT"), os.Getenv("VAULT_TOKEN")
		return backend{
			options: vault.Options{Address: address, TLS: vault.TLS{CAFile: ca}, Auth: vault.Auth{Method: vault.AuthToken, Token: token}},
			root:    vaulttest.NewClient(t, address, ca, token),
		}
	}
	return openFake(t)
}

// openFake is for what can't be had of a real server.
func openFake(t *testing.T) backend {
	t.Helper()
	s := vaulttest.Start(t)
	return backend{
		options: vault.Options{
			Address: s.URL, TLS: vault.TLS{CAFile: s.CAFile},
			Auth: vault.Auth{Method: vault.AuthToken, Token: s.RootToken},
		},
		root: s.Client(t), fake: s,
	}
}

// mount mounts a key/value engine of a version under a new name.
func (b backend) mount(t *testing.T, version string) string {
	t.Helper()
	at := "kv-" + strings.ToLower(rand.Text())
	err := b.root.Sys().Mount(at, mountInput(version))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.root.Sys().Unmount(at) })
	return at
}

// put writes fields as an operator does.
func (b backend) put(t *testing.T, at, version, path string, fields map[string]any) {
	t.Helper()
	var err error
	// A new mount of the second version refuses writes for a moment.
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if version == "2" {
			_, err = b.root.KVv2(at).Put(t.Context(), path, fields)
		} else {
			err = b.root.KVv1(at).Put(t.Context(), path, fields)
		}
		if err == nil {
			return
		}
	}
	t.Fatal(err)
}

func (b backend) remove(t *testing.T, at, version, path string) {
	t.Helper()
	var err error
	if version == "2" {
		err = b.root.KVv2(at).Delete(t.Context(), path)
	} else {
		err = b.root.KVv1(at).Delete(t.Context(), path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// policy writes a policy that lets read below each path.
func (b backend) policy(t *testing.T, paths ...string) string {
	t.Helper()
	name := "p-" + strings.ToLower(rand.Text())
	var rules strings.Builder
	for _, p := range paths {
		rules.WriteString(`path "` + p + `" { capabilities = ["read", "create", "update"] }` + "\n")
	}
	if err := b.root.Sys().PutPolicy(name, rules.String()); err != nil {
		t.Fatal(err)
	}
	return name
}

// appRole makes a role and returns how to log in with it.
func (b backend) appRole(t *testing.T, wrap bool, settings map[string]any) vault.Auth {
	t.Helper()
	// One that is there already is as good.
	_ = b.root.Sys().EnableAuthWithOptions("approle", &api.EnableAuthOptions{Type: "approle"})
	role := "auth/approle/role/r-" + strings.ToLower(rand.Text())
	b.write(t, b.root, role, settings)
	id, err := b.root.Logical().Read(role + "/role-id")
	if err != nil {
		t.Fatal(err)
	}
	client := b.root
	if wrap {
		if client, err = b.root.Clone(); err != nil {
			t.Fatal(err)
		}
		client.SetToken(b.root.Token())
		client.SetWrappingLookupFunc(func(string, string) string { return "60s" })
	}
	made := b.write(t, client, role+"/secret-id", map[string]any{})
	var secretID string
	if wrap {
		secretID = made.WrapInfo.Token
	} else {
		secretID = made.Data["secret_id"].(string)
	}
	return vault.Auth{
		Method: vault.AuthAppRole, RoleID: id.Data["role_id"].(string),
		SecretIDFile: file(t, secretID+"\n"), SecretIDWrapped: wrap,
	}
}

func (backend) write(t *testing.T, c *api.Client, path string, body map[string]any) *api.Secret {
	t.Helper()
	answer, err := c.Logical().Write(path, body)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func file(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func source(t *testing.T, o vault.Options) *vault.Source {
	t.Helper()
	s, err := vault.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func requireValue(t *testing.T, s *vault.Source, name, want string) {
	t.Helper()
	got, err := s.Read(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Value.Reveal()) != want {
		t.Errorf("%s: another value than the one that was set", name)
	}
}

func requireError(t *testing.T, s *vault.Source, name string, want error) {
	t.Helper()
	if _, err := s.Read(t.Context(), name); !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", name, err, want)
	}
}

// eventually waits for a condition that Serve brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func mountInput(version string) *api.MountInput {
	return &api.MountInput{Type: "kv", Options: map[string]string{"version": version}}
}
