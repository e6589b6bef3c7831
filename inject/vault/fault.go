package vault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/hashicorp/vault/api"

	"github.com/sallyport/sallyport/inject/secret"
)

// Statuses of Vault's own.
const (
	statusDRSecondary        = 472
	statusPerformanceStandby = 473
)

// status returns the HTTP status that err is about, or 0.
func status(err error) int {
	var answer *api.ResponseError
	if errors.As(err, &answer) {
		return answer.StatusCode
	}
	return 0
}

// fault makes one of the three errors of what the client returned. It tells
// the status and never the answer's text, which plug-ins write.
func fault(err error) error {
	if err == nil || known(err) {
		return err
	}
	switch code := status(err); code {
	case 0:
		return unanswered(err)
	case http.StatusNotFound:
		return fmt.Errorf("server answered 404: %w", secret.ErrNotFound)
	case http.StatusForbidden:
		return fmt.Errorf("server answered 403, permission denied: %w", secret.ErrDenied)
	default:
		return fmt.Errorf("server answered %d%s: %w", code, meaning(code), secret.ErrUnavailable)
	}
}

// meaning explains a status in Vault's terms.
func meaning(code int) string {
	switch code {
	case http.StatusTooManyRequests:
		return ", rate limit"
	case http.StatusServiceUnavailable:
		return ", sealed or down for maintenance"
	case http.StatusNotImplemented:
		return ", not initialised"
	case statusDRSecondary, statusPerformanceStandby:
		return ", standby"
	default:
		return ""
	}
}

func unanswered(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err // without the URL
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("no answer in time: %w: %w", secret.ErrUnavailable, err)
	}
	if request != nil {
		return fmt.Errorf("no answer: %w: %w", secret.ErrUnavailable, err)
	}
	// Of the client itself, such as an answer that isn't JSON, which it
	// quotes.
	return fmt.Errorf("unusable answer (%T): %w", err, secret.ErrUnavailable)
}

// known reports whether err is one of the three already.
func known(err error) bool {
	return errors.Is(err, secret.ErrNotFound) || errors.Is(err, secret.ErrDenied) || errors.Is(err, secret.ErrUnavailable)
}
