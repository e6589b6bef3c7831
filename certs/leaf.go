package certs

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

const (
	leafLifetime = 7 * 24 * time.Hour // from NotBefore to NotAfter
	maxLeaves    = 4096
)

// leaf is a cached certificate and when to replace it.
type leaf struct {
	cert  *tls.Certificate
	renew time.Time
}

// HostError says that no certificate can be had for a host, because it is not
// a canonical DNS name or IP address. Host holds hostile bytes.
type HostError struct {
	Host   string
	Reason string
}

func (e *HostError) Error() string {
	return fmt.Sprintf("mint leaf for %.260q: %s", e.Host, e.Reason)
}

// Leaf returns a certificate for host, a canonical DNS name or the text of an
// IP address, from the cache or newly signed; concurrent calls for one host
// sign once. The certificate is valid for at least a part of a week, never
// longer than the CA. The caller must not modify it. The error is a
// *[HostError] for what isn't a canonical host.
func (a *Authority) Leaf(host string) (*tls.Certificate, error) {
	if cert, ok := a.cached(host); ok {
		return cert, nil
	}
	v, err, _ := a.minting.Do(host, func() (any, error) {
		// Another flight may have landed between the look-up and this one.
		if cert, ok := a.cached(host); ok {
			return cert, nil
		}
		l, err := a.mint(host)
		if err != nil {
			return nil, err
		}
		a.leaves.Add(host, l)
		return l.cert, nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*tls.Certificate), nil
}

func (a *Authority) cached(host string) (*tls.Certificate, bool) {
	l, ok := a.leaves.Get(host)
	if !ok || !time.Now().Before(l.renew) {
		return nil, false
	}
	return l.cert, true
}

func (a *Authority) mint(host string) (*leaf, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{Organization: []string{"Sallyport"}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		// Not a CA: said explicitly, because some verifiers take silence for v1.
		BasicConstraintsValid: true,
	}
	if err := setNames(template, host); err != nil {
		return nil, err
	}
	now := time.Now()
	template.NotBefore = later(now.Add(-backdate), a.cert.NotBefore)
	template.NotAfter = earlier(template.NotBefore.Add(leafLifetime), a.cert.NotAfter)
	left := template.NotAfter.Sub(now)
	if left <= 0 {
		return nil, fmt.Errorf("mint leaf: the CA expired at %s", a.cert.NotAfter.Format(time.RFC3339))
	}
	var err error
	if template.SerialNumber, err = newSerial(); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.leafKey.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("sign leaf: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse leaf: %w", err)
	}
	a.minted.Add(1)
	// A share of what is left, not a fixed margin: near the end of the CA a
	// fixed one would sign a leaf for each connection.
	return &leaf{cert: a.tlsCertificate(der, cert), renew: now.Add(left / 7 * 6)}, nil
}

// setNames writes host into the template: a subject alternative name always,
// and a common name where it fits.
func setNames(template *x509.Certificate, host string) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return &HostError{host, "an address with a zone"}
		}
		template.IPAddresses = []net.IP{addr.Unmap().AsSlice()}
	} else {
		if err := checkName(host); err != nil {
			return err
		}
		template.DNSNames = []string{host}
	}
	if len(host) <= maxCommonName {
		template.Subject.CommonName = host
	}
	return nil
}

// checkName is not a normaliser: it refuses whatever could not have come out
// of one.
func checkName(host string) error {
	if len(host) == 0 || len(host) > 253 {
		return &HostError{host, "empty or longer than 253 bytes"}
	}
	last := ""
	for label := range strings.SplitSeq(host, ".") {
		if len(label) == 0 || len(label) > 63 {
			return &HostError{host, "an empty label or one longer than 63 bytes"}
		}
		if label[0] == '-' {
			return &HostError{host, "a label that begins with a hyphen"}
		}
		for i := range len(label) {
			c := label[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return &HostError{host, "a character that is not lower-case letter, digit, hyphen or underscore"}
			}
		}
		last = label
	}
	if strings.Trim(last, "0123456789") == "" {
		return &HostError{host, "neither an address nor a name: the last label is a number"}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
