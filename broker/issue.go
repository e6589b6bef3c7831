package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport/sallyport/inject/secret"
)

// issue asks the grant's issuer, within the limits of the sandbox and of the
// forge.
func (b *Broker) issue(ctx context.Context, s *sandbox, grant mintKey) (Credential, error) {
	issuer := b.options.Issuers[grant.Issuer]
	switch {
	case issuer == nil:
		return Credential{}, fmt.Errorf("%w: no issuer is called %q", ErrMisconfigured, grant.Issuer)
	case issuer.Host() != grant.Host:
		// Else one forge's credential would be sent to another.
		return Credential{}, fmt.Errorf("%w: issuer %q is for %s, the grant for %s", ErrMisconfigured, grant.Issuer, issuer.Host(), grant.Host)
	case tooWide(issuer) && grant.Auth != AuthEdge:
		return Credential{}, fmt.Errorf("%w: credentials of issuer %q reach all of an account: expected git_auth %q, or account_wide on the issuer", ErrMisconfigured, grant.Issuer, AuthEdge)
	}
	if wait := b.mustWait(grant.Issuer); wait > 0 {
		return Credential{}, &RateLimitError{After: wait}
	}
	if !s.limiter.Allow() {
		return Credential{}, ErrTooMany
	}
	got, err := ask(ctx, issuer, grant)
	var limited *RateLimitError
	if errors.As(err, &limited) && limited.After <= patience {
		select {
		case <-time.After(limited.After):
			got, err = ask(ctx, issuer, grant)
		case <-ctx.Done():
		}
	}
	if errors.As(err, &limited) {
		b.leaveAlone(grant.Issuer, limited.After)
	}
	return got, err
}

func tooWide(issuer Issuer) bool {
	w, ok := issuer.(Wide)
	return ok && w.Wide()
}

// ask takes nothing of an issuer that git couldn't be told.
func ask(ctx context.Context, issuer Issuer, grant mintKey) (Credential, error) {
	got, err := issuer.Issue(ctx, Request{Repository: grant.Repository, Access: grant.access})
	if err != nil {
		return Credential{}, err
	}
	err = secret.CheckHeader(got.Password.Reveal())
	if err == nil {
		err = secret.CheckHeader([]byte(got.Username))
	}
	if err == nil && !got.Expires.IsZero() && !time.Now().Before(got.Expires) {
		err = errors.New("it has expired already")
	}
	if err != nil {
		if got.Revoke != nil {
			err = errors.Join(err, got.Revoke(ctx))
		}
		return Credential{}, fmt.Errorf("%w: credential can't be used: %w", ErrUnavailable, err)
	}
	if got.Repository.IsZero() {
		got.Repository = grant.Repository
	}
	return got, nil
}

// mustWait is how long an issuer wants to be left alone still.
func (b *Broker) mustWait(issuer string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Until(b.limited[issuer])
}

// leaveAlone keeps every sandbox from asking an issuer again too soon.
func (b *Broker) leaveAlone(issuer string, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limited[issuer] = time.Now().Add(d)
}
