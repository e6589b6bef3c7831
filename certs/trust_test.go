package certs_test

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/sallyport/sallyport/certs"
)

// newTrust combines a with two roots that stand for the system's.
func newTrust(t *testing.T, a *certs.Authority, dir string) *certs.Trust {
	t.Helper()
	roots := append(newAuthority(t).CertificatePEM(), newAuthority(t).CertificatePEM()...)
	trust, err := certs.NewTrust(dir, a.CertificatePEM(), roots)
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

func count(b []byte) int { return strings.Count(string(b), "BEGIN CERTIFICATE") }

// Case: A27
func TestBundleHoldsRootsAndCA(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	trust := newTrust(t, a, "/t/")
	files := trust.Files()
	if count(files["/t/bundle.pem"]) != 3 || count(files["/t/ca.pem"]) != 1 || string(files["/t/ca.pem"]) != string(a.CertificatePEM()) {
		t.Errorf("bundle of %d, CA file of %d", count(files["/t/bundle.pem"]), count(files["/t/ca.pem"]))
	}
	java, err := pkcs12.DecodeTrustStore(files["/t/truststore.p12"], "changeit")
	if err != nil || len(java) != 3 || !java[0].Equal(a.Certificate()) {
		t.Errorf("%d certificates for Java, %v", len(java), err)
	}
	for name, data := range trust.Files() {
		if strings.Contains(string(data), "PRIVATE") {
			t.Errorf("%s holds a private key", name)
		}
	}
	if count(trust.StoreFiles()["/etc/ssl/certs/ca-certificates.crt"]) != 3 {
		t.Error("the distribution store lacks certificates")
	}
}

// Case: A27
func TestNoRootsIsAnError(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}))
	for name, roots := range map[string]string{"empty": "", "garbage": "hello", "the CA itself": string(a.CertificatePEM()), "a key": key,
		"not a certificate": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		if _, err := certs.NewTrust("/t", a.CertificatePEM(), []byte(roots)); !errors.Is(err, certs.ErrNoRoots) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := certs.NewTrust("/t", nil, a.CertificatePEM()); err == nil {
		t.Error("a trust without a CA")
	}
	for _, dir := range []string{"", "relative", "/with space", "/with\"quote"} {
		if _, err := certs.NewTrust(dir, a.CertificatePEM(), newAuthority(t).CertificatePEM()); err == nil {
			t.Errorf("directory %q accepted", dir)
		}
	}
}

func TestRootsAreCleaned(t *testing.T) {
	t.Parallel()
	a, root := newAuthority(t), newAuthority(t).CertificatePEM()
	noisy := "# a comment\n" + string(root) + string(root) + string(a.CertificatePEM()) + "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
	trust, err := certs.NewTrust("/t", a.CertificatePEM(), []byte(noisy))
	if err != nil {
		t.Fatal(err)
	}
	if b := trust.Files()["/t/bundle.pem"]; count(b) != 2 || strings.Contains(string(b), "comment") || strings.Contains(string(b), "PRIVATE") {
		t.Errorf("bundle %s", b)
	}
}

// A rotation ships two authorities of one name.
func TestTwoAuthoritiesOfOneName(t *testing.T) {
	t.Parallel()
	both := append(newAuthority(t).CertificatePEM(), newAuthority(t).CertificatePEM()...)
	trust, err := certs.NewTrust("/t", both, newAuthority(t).CertificatePEM())
	if err != nil {
		t.Fatal(err)
	}
	var hashed []string
	for name := range trust.Files() {
		if strings.HasPrefix(name, "/t/certs/") {
			hashed = append(hashed, name)
		}
	}
	if len(hashed) != 2 {
		t.Errorf("hashed files %q", hashed)
	}
}

// A sandbox may read the files while they are written again, and a link that
// somebody left at a path must not lead elsewhere.
func TestWriteReplacesFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := newAuthority(t).CertificatePEM()
	trust, err := certs.NewTrust(dir, newAuthority(t).CertificatePEM(), root)
	if err != nil {
		t.Fatal(err)
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("keep me"), 0o600); err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(dir, "bundle.pem")
	if err := os.Symlink(victim, bundle); err != nil {
		t.Fatal(err)
	}
	if err := trust.Write(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "keep me" {
		t.Errorf("what the link led to is %.20q, %v", b, err)
	}
	reader, err := os.Open(bundle)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := trust.Write(); err != nil {
		t.Fatal(err)
	}
	again, err := os.Stat(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if opened, err := reader.Stat(); err != nil || os.SameFile(opened, again) {
		t.Errorf("the file was written in place: %v", err)
	}
	if again.Mode() != 0o644 {
		t.Errorf("mode %v", again.Mode())
	}
	for name, want := range trust.Files() {
		if got, err := os.ReadFile(name); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestSystemRoots(t *testing.T) {
	path := filepath.Join(t.TempDir(), "roots.pem")
	root := newAuthority(t).CertificatePEM()
	if err := os.WriteFile(path, root, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", path)
	if b, err := certs.SystemRoots(); err != nil || string(b) != string(root) {
		t.Errorf("%q, %v", b, err)
	}
	t.Setenv("SSL_CERT_FILE", path+".missing")
	if b, err := certs.SystemRoots(); err == nil {
		t.Errorf("a missing SSL_CERT_FILE gave %q", b)
	}
	t.Setenv("SSL_CERT_FILE", "")
	b, err := certs.SystemRoots()
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM(b) || err != nil && !errors.Is(err, certs.ErrNoRoots) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

func pemOf(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
