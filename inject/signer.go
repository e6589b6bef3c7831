package inject

import (
	"context"
	"fmt"
	"net/http"

	"github.com/sallyport/sallyport/inject/secret"
)

// Signer proves to a server that whoever sends a request has a secret, which
// isn't sent. Implementations are safe for concurrent use.
type Signer interface {
	// Sign changes the header, and where its scheme says so the URL and the
	// body, of r. Errors are those of [Injection.Finish], and hold no value.
	Sign(ctx context.Context, r *http.Request, with Signing) error
}

// Signing is what one request is signed with.
type Signing struct {
	Options     Binding      // of the binding, as written
	Header      string       // of the binding, canonical
	Format      string       // of the binding, with one "{value}"
	Placeholder string       // of the binding's variable
	Secret      secret.Value // of the binding
	KeyID       secret.Value // of KindAWS; empty if Secret has it
	Token       secret.Value // of KindAWS: of the session; empty for none
}

// TooLargeError: a body has to be known as a whole, and is longer than may be
// kept.
type TooLargeError struct{ Limit int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("body longer than %d bytes, which it takes to sign the request", e.Limit)
}

// sign prepares the signature of b.
func (s *Set) sign(ctx context.Context, b *bound, from *Resolver, into *Injection) error {
	by := from.signer(b.kind)
	if by == nil {
		return fmt.Errorf("sign with secret %s: nothing signs for kind %q: %w", b.secret.ref, b.kind, secret.ErrUnavailable)
	}
	of := Signing{Options: b.options, Header: b.header, Format: b.format, Placeholder: b.placeholder}
	found, err := s.read(ctx, b.secret, from)
	if err != nil {
		return err
	}
	of.Secret = found.Value
	quoted := b.secret.open(found.Value.Reveal())["SessionToken"] != ""
	for part, value := range map[string]*secret.Value{partKeyID: &of.KeyID, partToken: &of.Token} {
		if h := b.more[part]; h != nil {
			more, err := s.read(ctx, h, from)
			if err != nil {
				return err
			}
			*value = more.Value
			quoted = quoted || part == partToken
		}
	}
	into.signings = append(into.signings, signing{by, of})
	if quoted {
		into.signed = s.values.now.Load().responses
	}
	into.note(b, found.Version)
	return nil
}

// note records the use of a secret.
func (i *Injection) note(b *bound, version string) {
	use := Injected{Env: b.env, Secret: b.secret.name, Header: b.header, Version: version}
	if b.kind != KindSecret {
		use.Kind = b.kind
	}
	i.Injected = append(i.Injected, use)
}
