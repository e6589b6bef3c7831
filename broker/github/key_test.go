package github_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/broker/github"
)

func pkcs8(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// Case: D27.
func TestParseKey(t *testing.T) {
	t.Parallel()
	plain := pkcs1(appKey())
	escaped := bytes.ReplaceAll(plain, []byte("\n"), []byte(`\n`))
	for name, data := range map[string][]byte{
		"PKCS 1":         plain,
		"PKCS 8":         pkcs8(t, appKey()),
		"CR LF":          bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n")),
		"escapes":        escaped,
		"quotes":         append(append([]byte{'"'}, escaped...), '"'),
		"base64":         []byte(base64.StdEncoding.EncodeToString(plain)),
		"wrapped base64": []byte(base64.StdEncoding.EncodeToString(plain)[:76] + "\n" + base64.StdEncoding.EncodeToString(plain)[76:]),
		"byte order":     append([]byte("\ufeff"), plain...),
	} {
		key, err := github.ParseKey(data)
		if err != nil || !key.Equal(appKey()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":          {nil, "not a PEM"},
		"text":           {[]byte("c4nary-of-a-token"), "not a PEM"},
		"OpenSSH":        {pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: []byte("c4nary")}), "OpenSSH"},
		"encrypted":      {pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("c4nary")}), "passphrase"},
		"encrypted once": {pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"DEK-Info": "AES"}, Bytes: []byte("c4nary")}), "passphrase"},
		"EC":             {pkcs8(t, curve), "expected RSA"},
		"two blocks":     {append(append([]byte{}, plain...), plain...), "more than one"},
		"public":         {pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("c4nary")}), "PUBLIC KEY"},
		"small":          {pkcs1(small), "1024 bits"},
		"cut off":        {pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: []byte("c4nary")}), "malformed"},
	} {
		_, err := github.ParseKey(c.data)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "c4nary") {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}
