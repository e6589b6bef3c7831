package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

const (
	authorityLifetime = 10 * 365 * 24 * time.Hour
	// backdate allows for clients whose clock is late.
	backdate = time.Hour
	// maxCommonName is ub-common-name of RFC 5280, appendix A.
	maxCommonName = 64
)

// Authority is a certificate authority with a bounded cache of leaves. It is
// safe for concurrent use.
type Authority struct {
	cert    *x509.Certificate
	certPEM []byte
	key     *ecdsa.PrivateKey

	leafKey *ecdsa.PrivateKey // shared by all leaves, never stored
	leaves  *lru.Cache[string, *leaf]
	minting singleflight.Group
	minted  atomic.Uint64
}

// Stats counts what an Authority has done.
type Stats struct {
	Minted uint64 // leaves signed since the start
	Cached int    // leaves in the cache
}

// New returns an authority whose key exists in this process only: for one-off
// runs and tests.
func New() (*Authority, error) {
	key, der, err := generate("Sallyport ephemeral CA")
	if err != nil {
		return nil, err
	}
	return newAuthority(key, der)
}

// Certificate returns the CA certificate. The caller must not modify it.
func (a *Authority) Certificate() *x509.Certificate { return a.cert }

// CertificatePEM returns the CA certificate as PEM, and after it those that
// clients must trust besides while the CA is rotated (see [Rotate]). The caller
// owns the slice.
func (a *Authority) CertificatePEM() []byte { return append([]byte(nil), a.certPEM...) }

// Stats returns the counters.
func (a *Authority) Stats() Stats { return Stats{Minted: a.minted.Load(), Cached: a.leaves.Len()} }

// generate makes a key and a self-signed certificate for it. The common name
// is title, some of the serial number and the machine's name: an operator who
// meets it in a trust store can tell whose it is, and no two authorities share
// a name, so whoever looks up issuers by name alone finds the right one.
func generate(title string) (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generate CA key: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, nil, err
	}
	name := fmt.Sprintf("%s %08x", title, uint32(serial.Uint64()))
	if host, err := os.Hostname(); err == nil {
		name += " " + host
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{Organization: []string{"Sallyport"}, CommonName: name[:min(len(name), maxCommonName)]},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(authorityLifetime),
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("sign CA certificate: %w", err)
	}
	return key, der, nil
}

// newAuthority parses der even where it has just been made: a leaf gets an
// Authority Key Identifier only if its parent is a parsed certificate.
func newAuthority(key *ecdsa.PrivateKey, der []byte) (*Authority, error) {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse CA certificate: %w", err)
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate leaf key: %w", err)
	}
	leaves, err := lru.New[string, *leaf](maxLeaves)
	if err != nil {
		return nil, fmt.Errorf("make leaf cache: %w", err)
	}
	return &Authority{
		cert: cert, key: key, leafKey: leafKey, leaves: leaves,
		certPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	}, nil
}

// newSerial returns 128 random bits. Randomness, not a counter, keeps serials
// of one issuer apart over restarts and copies of the key (case A26).
func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, fmt.Errorf("make serial number: %w", err)
	}
	return serial.Add(serial, big.NewInt(1)), nil
}

// tlsCertificate is the leaf as crypto/tls wants it. The root isn't part of
// the chain: a client that doesn't have it won't trust it.
func (a *Authority) tlsCertificate(der []byte, cert *x509.Certificate) *tls.Certificate {
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.leafKey, Leaf: cert}
}
