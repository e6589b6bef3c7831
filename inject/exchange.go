package inject

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sallyport/sallyport/inject/secret"
)

// Exchanger gets what requests carry for a secret that stays with us: an access
// token. Implementations are safe for concurrent use and ask nobody but the
// endpoint that the binding names. They don't cache, and ask once: a refresh
// token may be good for one use.
type Exchanger interface {
	// Exchange wraps [secret.ErrDenied] if the endpoint refuses the grant, else
	// [secret.ErrUnavailable]. No error holds a value.
	Exchange(ctx context.Context, g Grant) (Token, error)
}

// Grant is what an exchange is asked with.
type Grant struct {
	Options      Binding
	Secret       secret.Value // client secret, refresh token or service account key
	ClientSecret secret.Value // for KindRefreshToken; empty for none
}

// Token is what an exchange came to.
type Token struct {
	Value   secret.Value
	Expires time.Time // zero if the issuer doesn't say
	// Refresh is the refresh token that replaces the one that was used; empty
	// if that stays good.
	Refresh secret.Value
}

const (
	// unknownLife is for how long a token is used whose issuer doesn't say.
	unknownLife = 5 * time.Minute
	// early is how long before its end a token is replaced, at most; of one
	// that lives for less than ten times that, a tenth of its life.
	early = 30 * time.Second
)

// exchange returns what is had for found, the secret of b.
func (s *Set) exchange(ctx context.Context, b *bound, found secret.Secret, from *Resolver) (secret.Secret, error) {
	asked := Grant{Options: b.options, Secret: found.Value}
	if h := b.more[partClientSecret]; h != nil {
		client, err := s.read(ctx, h, from)
		if err != nil {
			return secret.Secret{}, err
		}
		asked.ClientSecret = client.Value
	}
	g := from.grantOf(ctx, b, found)
	issued, err := g.get(ctx, asked)
	if err != nil {
		return secret.Secret{}, fmt.Errorf("exchange secret %s: %w", b.secret.ref, err)
	}
	s.know(b.more[partIssued], issued.Value.Reveal())
	if h := b.more[partRefresh]; h != nil {
		s.know(h, g.refreshToken().Reveal())
	}
	return secret.Secret{Value: issued.Value, Version: found.Version, Expires: issued.Expires}, nil
}

// Renew replaces the tokens in r, of which the upstream said that it is not
// authorized, and reports whether it carries others now: then it may be sent
// again, once, if it may be repeated at all.
func (i Injection) Renew(ctx context.Context, from *Resolver, r *http.Request) bool {
	if len(i.tokens) == 0 {
		return false
	}
	set, changed := i.watch.set, false
	ctx = secret.Within(ctx, set.scope)
	for _, w := range i.tokens {
		found, err := set.read(ctx, w.b.secret, from)
		if err != nil || !from.grantOf(ctx, w.b, found).drop(w.used) {
			continue
		}
		again := &written{b: w.b, was: w.was, found: w.found}
		var unrecorded Injection
		if set.fill(ctx, again, from, &unrecorded) == nil && again.value != w.value {
			again.write(r.Header)
			changed = true
		}
	}
	return changed
}
