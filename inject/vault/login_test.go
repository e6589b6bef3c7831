package vault_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/vault"
)

// withSecret returns a server with one secret, its name, and the settings of
// roles that may read it.
func withSecret(t *testing.T, b backend) (string, map[string]any) {
	t.Helper()
	at := b.mount(t, "2")
	b.put(t, at, "2", "app", map[string]any{"k": "v"})
	return at + "/app#k", map[string]any{"token_policies": b.policy(t, at+"/data/app", "auth/token/create")}
}

func TestAppRole(t *testing.T) {
	t.Parallel()
	b := open(t)
	name, settings := withSecret(t, b)
	o := b.options
	o.Auth = b.appRole(t, false, settings)
	requireValue(t, source(t, o), name, "v")
	if err := os.WriteFile(o.Auth.SecretIDFile, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	requireError(t, source(t, o), name, secret.ErrDenied)
}

// The wrapping token is spent once; later logins use what was in it.
func TestWrappedSecretID(t *testing.T) {
	t.Parallel()
	b := open(t)
	name, settings := withSecret(t, b)
	settings["token_ttl"], settings["token_max_ttl"] = "1s", "1s"
	o := b.options
	o.Auth = b.appRole(t, true, settings)
	s := source(t, o)
	requireValue(t, s, name, "v")
	time.Sleep(1100 * time.Millisecond) // the token's whole life
	requireValue(t, s, name, "v")
	// Somebody else who finds the file has nothing of it.
	requireError(t, source(t, o), name, secret.ErrDenied)
}

// A wrapping token that was made for something else is not opened.
func TestForgedWrapping(t *testing.T) {
	t.Parallel()
	b := open(t)
	name, settings := withSecret(t, b)
	o := b.options
	o.Auth = b.appRole(t, true, settings)
	client, err := b.root.Clone()
	if err != nil {
		t.Fatal(err)
	}
	client.SetToken(b.root.Token())
	client.SetWrappingLookupFunc(func(string, string) string { return "60s" })
	forged := b.write(t, client, "auth/token/create", map[string]any{"display_name": "x"}).WrapInfo.Token
	if err := os.WriteFile(o.Auth.SecretIDFile, []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	requireError(t, source(t, o), name, secret.ErrDenied)
}

func TestTokenFile(t *testing.T) {
	t.Parallel()
	b := open(t)
	name, settings := withSecret(t, b)
	fresh := func() string {
		return b.write(t, b.root, "auth/token/create", map[string]any{
			"policies": []string{settings["token_policies"].(string)}, "ttl": "1h",
		}).Auth.ClientToken
	}
	first := fresh()
	o := b.options
	o.Auth = vault.Auth{Method: vault.AuthToken, TokenFile: file(t, first+"\n")}
	s := source(t, o)
	requireValue(t, s, name, "v")
	revoke := b.root.Auth().Token()
	if err := revoke.RevokeTree(first); b.fake == nil && err != nil {
		t.Fatal(err)
	}
	if b.fake != nil {
		b.fake.RevokeTokens()
	}
	requireError(t, s, name, secret.ErrDenied)
	if err := os.WriteFile(o.Auth.TokenFile, []byte(fresh()), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new token is used", func() bool {
		_, err := s.Read(t.Context(), name)
		return err == nil
	})
	if err := os.Remove(o.Auth.TokenFile); err != nil {
		t.Fatal(err)
	}
	requireError(t, source(t, o), name, secret.ErrUnavailable)
}

func TestJWTAndKubernetes(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	for _, method := range []vault.Method{vault.AuthJWT, vault.AuthKubernetes} {
		b := openFake(t)
		name, settings := withSecret(t, b)
		at := "auth/" + string(method)
		b.write(t, b.root, at+"/config", map[string]any{"jwt_validation_pubkeys": publicPEM(t, key)})
		b.write(t, b.root, at+"/role/edge", settings)
		o := b.options
		o.Auth = vault.Auth{Method: method, Role: "edge", JWTFile: file(t, sign(t, key))}
		requireValue(t, source(t, o), name, "v")
		o.Auth.JWTFile = file(t, sign(t, newKey(t)))
		requireError(t, source(t, o), name, secret.ErrDenied)
	}
}

func TestClientCertificate(t *testing.T) {
	t.Parallel()
	b := openFake(t)
	name, settings := withSecret(t, b)
	certFile, keyFile, certPEM := certificate(t)
	settings["certificate"] = certPEM
	b.write(t, b.root, "auth/cert/certs/edge", settings)
	o := b.options
	o.TLS.CertFile, o.TLS.KeyFile = certFile, keyFile
	o.Auth = vault.Auth{Method: vault.AuthCert, Role: "edge"}
	requireValue(t, source(t, o), name, "v")
	o.TLS.CertFile, o.TLS.KeyFile, _ = certificate(t)
	requireError(t, source(t, o), name, secret.ErrDenied)
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func publicPEM(t *testing.T, key *ecdsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func sign(t *testing.T, key *ecdsa.PrivateKey) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := jwt.Signed(signer).Claims(jwt.Claims{
		Subject: "edge", Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour)),
	}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// certificate returns the files of a self-signed client certificate.
func certificate(t *testing.T) (certFile, keyFile, certPEM string) {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "edge"},
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return file(t, certPEM), file(t, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))), certPEM
}
