package inject

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"

	"github.com/sallyport/sallyport/inject/secret"
)

// Certificate is a client certificate with its key, as a connection shows it.
type Certificate struct {
	TLS tls.Certificate
	// ID tells one certificate and key from another: a connection made with one
	// must not carry a request that wants another.
	ID [sha256.Size]byte
}

// show reads the certificate of b, and parses it if it has changed.
func (s *Set) show(ctx context.Context, b *bound, from *Resolver, into *Injection) error {
	found, err := s.read(ctx, b.secret, from)
	if err != nil {
		return err
	}
	value := found.Value.Reveal()
	id := sha256.Sum256(value)
	now := b.certificate.Load()
	if now == nil || now.ID != id {
		// Chain and key are in one file; each parser skips what isn't its own.
		pair, err := tls.X509KeyPair(value, value)
		if err != nil {
			// Without the cause, which may quote what it read.
			return fmt.Errorf("show certificate %s: not a PEM chain with its key: %w", b.secret.ref, secret.ErrUnavailable)
		}
		now = &Certificate{TLS: pair, ID: id}
		b.certificate.Store(now)
	}
	into.Certificate = now
	into.note(b, found.Version)
	return nil
}
