package certs

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrNoRoots: there are no system roots to combine with. A bundle without
// them would cut a sandbox off from every host that isn't intercepted, so it
// is never made (case A27).
var ErrNoRoots = errors.New("no system root certificates found: install the distribution's ca-certificates package, or set SSL_CERT_FILE to a bundle")

// distributionBundles are where distributions keep all roots in one file.
var distributionBundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Ubuntu, Arch, Gentoo
	"/etc/pki/tls/certs/ca-bundle.crt",                  // Fedora, RHEL
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // CentOS, RHEL 7
	"/etc/ssl/ca-bundle.pem",                            // openSUSE
	"/etc/ssl/cert.pem",                                 // Alpine, BSD
	"/etc/pki/tls/cacert.pem",                           // OpenELEC
}

// SystemRoots returns this machine's root certificates as PEM: the file that
// SSL_CERT_FILE names, else the distribution's bundle. The error is
// [ErrNoRoots] if there is none; an SSL_CERT_FILE that can't be read is an
// error of its own.
func SystemRoots() ([]byte, error) {
	if path := os.Getenv("SSL_CERT_FILE"); path != "" {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read system roots named by SSL_CERT_FILE: %w", err)
		}
		return b, nil
	}
	for _, path := range distributionBundles {
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == 0 {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read system roots: %w", err)
		}
		return b, nil
	}
	return nil, ErrNoRoots
}

// parseBundle returns the certificates in data, each once. Other blocks and
// text are passed over, and so are certificates that crypto/x509 can't parse:
// no Go client could use them, and one odd root must not cost all others.
func parseBundle(data []byte) []*x509.Certificate {
	var certs []*x509.Certificate
	seen := map[[sha256.Size]byte]bool{}
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return certs
		}
		sum := sha256.Sum256(block.Bytes)
		if block.Type != "CERTIFICATE" || seen[sum] {
			continue
		}
		seen[sum] = true
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			certs = append(certs, cert)
		}
	}
}

func encodeBundle(certs []*x509.Certificate) []byte {
	var b bytes.Buffer
	for _, cert := range certs {
		// Writing to memory can't fail.
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
	}
	return b.Bytes()
}
