// Package static hands out tokens that somebody made by hand, for forges that
// mint none: one secret for each repository and access.
//
// It can't verify how far a token reaches; so each is configured for exactly
// one repository and access, and answers no other grant. Nothing is revoked:
// the tokens are the operator's.
package static

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

// defaultUsername is taken by the forges that look at the token alone.
const defaultUsername = "x-access-token"

// Options of an Issuer. Host and Tokens are required.
type Options struct {
	Host     policy.Host
	Username string // empty means "x-access-token"
	Tokens   map[broker.Request]broker.SecretReader
}

// Issuer is a [broker.Issuer] over configured tokens.
type Issuer struct{ options Options }

var _ broker.Issuer = (*Issuer)(nil)

// New returns an Issuer. It reads no token yet.
func New(o Options) *Issuer {
	o.Username = cmp.Or(o.Username, defaultUsername)
	return &Issuer{o}
}

// Host implements [broker.Issuer].
func (i *Issuer) Host() policy.Host { return i.options.Host }

// Issue implements [broker.Issuer]: it returns the configured token as its
// source has it now.
func (i *Issuer) Issue(ctx context.Context, r broker.Request) (broker.Credential, error) {
	read := i.options.Tokens[r]
	if read == nil {
		return broker.Credential{}, fmt.Errorf("%w: no token is configured to %s %s", broker.ErrRefused, r.Access, r.Repository)
	}
	token, err := read(ctx)
	switch {
	case errors.Is(err, secret.ErrNotFound), errors.Is(err, secret.ErrDenied):
		return broker.Credential{}, fmt.Errorf("%w: %w", broker.ErrMisconfigured, err)
	case err != nil:
		return broker.Credential{}, fmt.Errorf("%w: %w", broker.ErrUnavailable, err)
	}
	return broker.Credential{Username: i.options.Username, Password: token.Value, Expires: token.Expires}, nil
}
