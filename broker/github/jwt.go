package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-github/v84/github"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/inject/secret"
)

// GitHub refuses a JWT that was issued in its future or lasts longer than ten
// minutes, both by its own clock.
const (
	backDated = time.Minute
	lasts     = 9 * time.Minute
	// tolerable is the difference of clocks that can't be why a JWT is refused.
	tolerable = 30 * time.Second
)

// clock is ours, corrected by what the API says that it is.
type clock struct {
	mu     sync.Mutex
	offset time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

// follow takes over the time of an answer, and reports whether that changes
// what a JWT would say.
func (c *clock) follow(resp *http.Response) (offset time.Duration, changed bool) {
	theirs, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.offset
	offset = time.Until(theirs)
	if (offset - before).Abs() < tolerable {
		return before, false
	}
	c.offset = offset
	return offset, true
}

// asApp calls f with a client that is the App. When the API refuses the JWT
// and its clock differs from ours, f is called once more by the API's clock.
func (i *Issuer) asApp(ctx context.Context, f func(*github.Client) error) error {
	err := f(i.client(func() (string, error) { return i.sign(ctx) }))
	var refused *github.ErrorResponse
	if !errors.As(err, &refused) || refused.Response.StatusCode != http.StatusUnauthorized {
		return err
	}
	offset, changed := i.clock.follow(refused.Response)
	if changed {
		err = f(i.client(func() (string, error) { return i.sign(ctx) }))
	}
	if err != nil && offset.Abs() >= tolerable {
		err = fmt.Errorf("clock skew of %v against GitHub: set this machine's clock: %w", -offset.Round(time.Second), err)
	}
	return err
}

// sign makes the App's JWT. The key is read each time, so that a rotated one
// counts at once.
func (i *Issuer) sign(ctx context.Context) (string, error) {
	pem, err := i.options.Key(ctx)
	switch {
	case errors.Is(err, secret.ErrNotFound), errors.Is(err, secret.ErrDenied):
		return "", fmt.Errorf("%w: private key: %w", broker.ErrMisconfigured, err)
	case err != nil:
		return "", fmt.Errorf("%w: private key: %w", broker.ErrUnavailable, err)
	}
	key, err := ParseKey(pem.Value.Reveal())
	if err != nil {
		return "", fmt.Errorf("%w: %w", broker.ErrMisconfigured, err)
	}
	now := i.clock.now()
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer:    i.options.AppID,
		IssuedAt:  jwt.NewNumericDate(now.Add(-backDated)),
		ExpiresAt: jwt.NewNumericDate(now.Add(lasts)),
	}).SignedString(key)
	if err != nil {
		return "", fmt.Errorf("%w: sign JWT: %w", broker.ErrMisconfigured, err)
	}
	return signed, nil
}
