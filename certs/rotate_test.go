package certs_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport/certs"
)

func open(t *testing.T, dir string) *certs.Authority {
	t.Helper()
	a, err := certs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// trusts reports whether a client that was given the certificates in roots
// accepts the leaves of a.
func trusts(t *testing.T, roots []byte, a *certs.Authority) bool {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(roots)
	leaf, err := a.Leaf("www.example.com")
	if err != nil {
		t.Fatal(err)
	}
	_, err = leaf.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "www.example.com"})
	return err == nil
}

// A sandbox that started in one step works throughout the next. Ledger: ED-37
func TestRotate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rotate := func(step certs.Step, want bool) {
		t.Helper()
		if err := certs.Rotate(dir, step); (err == nil) != want {
			t.Fatalf("%s: %v", step, err)
		}
	}
	before := open(t, dir)
	rotate(certs.StepSwitch, false)
	rotate(certs.StepRetire, false)
	rotate("", false)
	rotate(certs.StepBegin, true)
	rotate(certs.StepBegin, false)
	begun := open(t, dir)
	if !begun.Certificate().Equal(before.Certificate()) || !trusts(t, before.CertificatePEM(), begun) {
		t.Error("another authority signs before the switch")
	}
	rotate(certs.StepSwitch, true)
	rotate(certs.StepBegin, false)
	switched := open(t, dir)
	if switched.Certificate().Equal(before.Certificate()) {
		t.Error("the old authority signs after the switch")
	}
	if !trusts(t, begun.CertificatePEM(), switched) || !trusts(t, switched.CertificatePEM(), begun) {
		t.Error("no overlap")
	}
	rotate(certs.StepRetire, true)
	retired := open(t, dir)
	if !trusts(t, switched.CertificatePEM(), retired) || trusts(t, retired.CertificatePEM(), before) {
		t.Error("the old authority is trusted still, or the new one isn't")
	}
	if block, rest := pem.Decode(retired.CertificatePEM()); block == nil || len(bytes.TrimSpace(rest)) > 0 {
		t.Error("more than one certificate is left")
	}
}

// A switch that was cut short is finished; no third authority is made.
func TestRotateCutShort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := open(t, dir)
	if err := certs.Rotate(dir, certs.StepBegin); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "authority"), filepath.Join(dir, "authority-old")); err != nil {
		t.Fatal(err)
	}
	after := open(t, dir)
	if after.Certificate().Equal(before.Certificate()) || !trusts(t, after.CertificatePEM(), before) {
		t.Error("the switch isn't finished, or there is no overlap")
	}
}
