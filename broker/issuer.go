package broker

import (
	"context"
	"errors"
	"time"

	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

// Issuer mints credentials of one forge. Implementations are safe for
// concurrent use, keep to ctx's deadline, wrap one of the errors below (or are
// a *[RateLimitError]), and never put a credential or a key into an error. They
// don't cache: the Broker does.
type Issuer interface {
	// Host is the one host that the credentials are for.
	Host() policy.Host
	// Issue mints a credential for r.Repository alone with r.Access and no
	// more, and has verified that the forge's answer says so.
	Issue(ctx context.Context, r Request) (Credential, error)
}

// Mover is an Issuer that can tell that a repository has moved to another name.
type Mover interface {
	// Moved reports whether the forge redirects the repository elsewhere.
	// Credential.Repository of the next one issued then says where to.
	Moved(ctx context.Context, r Repository) (bool, error)
}

// Wide is an Issuer of a forge whose credentials reach more than the repository
// that they are asked for.
type Wide interface {
	// Wide reports whether they are for the edge alone, which uses each for the
	// granted repository: none is handed to a sandbox.
	Wide() bool
}

// Request says what to mint.
type Request struct {
	Repository Repository
	Access     Access
}

// Credential is what git presents to the forge.
type Credential struct {
	Username string
	Password secret.Value
	// Expires is when the forge stops to accept it; zero if it has no end.
	Expires time.Time
	// Repository is the forge's current name of what was asked for; zero if it
	// is that very name.
	Repository Repository
	// Revoke ends it before its time; nil if it can't be or, being somebody's
	// configured token, mustn't. Revoking what has ended already is no error.
	Revoke func(ctx context.Context) error
}

// Errors that every issuer maps its failures to.
var (
	// ErrRefused: the forge says that this can't be had: the repository isn't
	// there for us, or we have less access than was asked for.
	ErrRefused = errors.New("the forge refused")
	// ErrMisconfigured: our own key or token isn't accepted, or can't be read.
	ErrMisconfigured = errors.New("the issuer is misconfigured")
	// ErrUnavailable: the forge didn't answer, or not as it should.
	ErrUnavailable = errors.New("the forge is unavailable")
)

// RateLimitError says that the forge wants to be left alone.
type RateLimitError struct {
	After time.Duration // how long; never negative
	Err   error         // what it said; may be nil
}

func (e *RateLimitError) Error() string {
	text := "rate limit of the forge, wait " + e.After.Round(time.Second).String()
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns what the forge said.
func (e *RateLimitError) Unwrap() error { return e.Err }

// SecretReader reads a key or token that an issuer stands on.
type SecretReader func(ctx context.Context) (secret.Secret, error)
