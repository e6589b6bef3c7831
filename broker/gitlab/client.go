package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/inject/secret"
)

// client returns one with the token as its source has it now. It neither
// retries nor limits itself: the Broker does both for all sandboxes.
func (i *Issuer) client(ctx context.Context) (*gitlab.Client, error) {
	token, err := i.options.Token(ctx)
	switch {
	case errors.Is(err, secret.ErrNotFound), errors.Is(err, secret.ErrDenied):
		return nil, fmt.Errorf("%w: %w", broker.ErrMisconfigured, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", broker.ErrUnavailable, err)
	}
	client, err := gitlab.NewClient(string(token.Value.Reveal()),
		gitlab.WithBaseURL(i.api.String()), gitlab.WithUserAgent(userAgent),
		gitlab.WithHTTPClient(&http.Client{Transport: i.options.Transport, CheckRedirect: stay}),
		gitlab.WithoutRetries(), gitlab.WithCustomLimiter(unlimited{}))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", broker.ErrMisconfigured, err)
	}
	return client, nil
}

// stay follows no redirect: the client sends its token along.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

type unlimited struct{}

// Wait implements gitlab.RateLimiter.
func (unlimited) Wait(context.Context) error { return nil }

const defaultWait = 10 * time.Second

// explain maps an error of the client to one of the broker's. The client's own
// text holds the request's URL and GitLab's message, and no token.
func explain(err error, doing string) error {
	if errors.Is(err, gitlab.ErrNotFound) {
		return fmt.Errorf("%w: %s: not there, or not for this token", broker.ErrRefused, doing)
	}
	var answer *gitlab.ErrorResponse
	if !errors.As(err, &answer) || answer.Response == nil {
		return fmt.Errorf("%w: %s: %w", broker.ErrUnavailable, doing, err)
	}
	status := answer.Response.StatusCode
	switch {
	case status == http.StatusUnauthorized:
		return fmt.Errorf("%w: %s: the issuer's token isn't accepted", broker.ErrMisconfigured, doing)
	case status == http.StatusTooManyRequests:
		return &broker.RateLimitError{After: retryAfter(answer.Response.Header), Err: err}
	case status >= 300 && status < 400:
		return fmt.Errorf("%w: %s: it has moved", broker.ErrRefused, doing)
	case status >= 400 && status < 500:
		return fmt.Errorf("%w: %s: status %d: %s", broker.ErrRefused, doing, status, answer.Message)
	}
	return fmt.Errorf("%w: %s: status %d", broker.ErrUnavailable, doing, status)
}

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return defaultWait
	}
	return time.Duration(seconds) * time.Second
}
