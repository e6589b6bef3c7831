package certs_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/certs"
)

func newAuthority(t testing.TB) *certs.Authority {
	t.Helper()
	a, err := certs.New()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Ledger: ED-33
func TestAuthorityCertificate(t *testing.T) {
	t.Parallel()
	a, err := certs.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := a.Certificate()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if cn := c.Subject.CommonName; !strings.HasPrefix(cn, "Sallyport CA ") || !strings.Contains(cn, host[:min(len(host), 40)]) || len(cn) > 64 {
		t.Errorf("common name %q", c.Subject.CommonName)
	}
	pub, ok := c.PublicKey.(*ecdsa.PublicKey)
	if !ok || pub.Curve != elliptic.P256() {
		t.Errorf("key %T", c.PublicKey)
	}
	if !c.IsCA || !c.BasicConstraintsValid || c.MaxPathLen != 0 || !c.MaxPathLenZero {
		t.Errorf("constraints: CA %v, pathlen %d", c.IsCA, c.MaxPathLen)
	}
	if c.KeyUsage != x509.KeyUsageCertSign|x509.KeyUsageCRLSign || len(c.SubjectKeyId) == 0 {
		t.Errorf("key usage %b, SKI %x", c.KeyUsage, c.SubjectKeyId)
	}
	if years := time.Until(c.NotAfter).Hours() / 24 / 365; years < 9.9 || years > 10.1 {
		t.Errorf("valid for %.1f years", years)
	}
	for _, e := range c.Extensions {
		if e.Id.String() == "2.5.29.19" && !e.Critical {
			t.Error("basicConstraints is not critical")
		}
	}
	if block, rest := pem.Decode(a.CertificatePEM()); block == nil || len(rest) > 0 || !bytes.Equal(block.Bytes, c.Raw) {
		t.Error("CertificatePEM is not the certificate alone")
	}
}

// Ledger: ED-33
func TestOpenKeepsTheAuthority(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "state")
	var serials [2]string
	for i := range serials {
		a, err := certs.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		serials[i] = a.Certificate().SerialNumber.String()
	}
	if serials[0] != serials[1] {
		t.Error("the second Open made another authority")
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "ca-key.pem": 0o600, "ca.pem": 0o644} {
		fi, err := os.Stat(filepath.Join(dir, "authority", name))
		if err != nil || fi.Mode().Perm() != want {
			t.Errorf("%q: mode %v, %v, want %v", name, fi.Mode().Perm(), err, want)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestConcurrentOpensAgree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var got [8]*certs.Authority
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			a, err := certs.Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			got[i] = a
		})
	}
	wg.Wait()
	for _, a := range got {
		if a == nil || !a.Certificate().Equal(got[0].Certificate()) {
			t.Fatal("two authorities in one directory")
		}
	}
}

func TestOpenRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	other := newAuthority(t)
	cases := []struct {
		name  string
		spoil func(t *testing.T, dir string)
		want  string
	}{
		{"key readable by the group", chmod("ca-key.pem", 0o640), "run chmod 0600"},
		{"key readable by all", chmod("ca-key.pem", 0o644), "run chmod 0600"},
		{"certificate writable by all", chmod("ca.pem", 0o666), "run chmod 0644"},
		{"key empty", write("ca-key.pem", ""), "no PEM block"},
		{"key cut short", write("ca-key.pem", "-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n"), "not a PKCS#8 private key"},
		{"key missing", remove("ca-key.pem"), "no such file"},
		{"certificate missing", remove("ca.pem"), "no such file"},
		{"certificate garbage", write("ca.pem", "hello"), "no PEM block"},
		{"certificate of another key", write("ca.pem", string(other.CertificatePEM())), "belongs to another key"},
		{"key is a directory", func(t *testing.T, dir string) {
			remove("ca-key.pem")(t, dir)
			if err := os.Mkdir(filepath.Join(dir, "ca-key.pem"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "not a regular file"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if _, err := certs.Open(dir); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, filepath.Join(dir, "authority"))
			for range 2 { // and it is never replaced
				_, err := certs.Open(dir)
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "move it away") {
					t.Errorf("got %v, want %q and advice", err, c.want)
				}
			}
		})
	}
}

// Whoever can write to the directory can put an authority there whose key is
// known to others.
func TestOpenRefusesADirectoryThatEveryoneMayWrite(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o777, 0o777 | os.ModeSticky} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := certs.Open(dir); err == nil || !strings.Contains(err.Error(), "everyone may write") {
			t.Errorf("%v, none there: %v", mode, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("%v: left %v, %v", mode, left, err)
		}
		planted := t.TempDir()
		if _, err := certs.Open(planted); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(planted, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := certs.Open(planted); err == nil || !strings.Contains(err.Error(), "everyone may write") {
			t.Errorf("%v, one there: %v", mode, err)
		}
	}
}

func chmod(name string, mode os.FileMode) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func write(name, text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// Ledger: ED-35
func TestNoMethodReturnsTheKey(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	typ := reflect.TypeOf(a)
	for i := range typ.NumMethod() {
		for j := range typ.Method(i).Type.NumOut() {
			switch out := typ.Method(i).Type.Out(j).String(); out {
			case "*x509.Certificate", "*tls.Certificate", "[]uint8", "certs.Stats", "error":
			default:
				t.Errorf("%s returns %s", typ.Method(i).Name, out)
			}
		}
	}
	l, err := a.Leaf("a.test")
	if err != nil {
		t.Fatal(err)
	}
	if a.Certificate().PublicKey.(*ecdsa.PublicKey).Equal(l.PrivateKey.(*ecdsa.PrivateKey).Public()) {
		t.Error("the leaf's key is the CA's")
	}
}
