package github

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/go-github/v84/github"

	"github.com/sallyport/sallyport/broker"
)

// unspecified is how long to wait when GitHub doesn't say (its documentation
// on secondary limits asks for a minute).
const unspecified = time.Minute

// explain maps an error of the API to the broker's, with what an operator can
// do about it. about says what was asked for.
func explain(err error, about string) error {
	for _, known := range []error{broker.ErrMisconfigured, broker.ErrUnavailable, broker.ErrRefused} {
		if errors.Is(err, known) {
			return err // from sign, through the transport
		}
	}
	var primary *github.RateLimitError
	var secondary *github.AbuseRateLimitError
	var answer *github.ErrorResponse
	switch {
	case errors.As(err, &primary):
		return &broker.RateLimitError{After: max(0, time.Until(primary.Rate.Reset.Time)), Err: errors.New(primary.Message)}
	case errors.As(err, &secondary):
		after := unspecified
		if secondary.RetryAfter != nil {
			after = max(0, *secondary.RetryAfter)
		}
		return &broker.RateLimitError{After: after, Err: errors.New(secondary.Message)}
	case errors.As(err, &answer):
		return explainStatus(answer, about)
	default:
		return fmt.Errorf("%w: %s: %w", broker.ErrUnavailable, about, err)
	}
}

func explainStatus(e *github.ErrorResponse, about string) error {
	wait, told := retryAfter(e.Response)
	// The answer is wrapped so that asApp sees a refused JWT.
	wrap := func(kind error, advice string) error {
		return fmt.Errorf("%w: %s: status %d: %s (%s): %w", kind, about, e.Response.StatusCode, advice, e.Message, quiet{e})
	}
	switch status := e.Response.StatusCode; {
	case status == http.StatusTooManyRequests, status == http.StatusForbidden && told:
		return &broker.RateLimitError{After: wait, Err: errors.New(e.Message)}
	case status == http.StatusUnauthorized:
		return wrap(broker.ErrMisconfigured, "GitHub doesn't accept the App's JWT: do app_id and private_key belong together?")
	case status == http.StatusForbidden:
		return wrap(broker.ErrRefused, "the App may not do this: is its installation suspended or limited to other addresses?")
	case status == http.StatusNotFound:
		return wrap(broker.ErrRefused, "there is no such repository, or the App isn't installed for it")
	case status == http.StatusUnprocessableEntity:
		return wrap(broker.ErrRefused, "the installation lacks the repository or one of the permissions")
	default:
		return wrap(broker.ErrUnavailable, "GitHub can't answer at the moment")
	}
}

// quiet keeps an answer for errors.As and adds no text: the answer's own names
// the URL and repeats the message.
type quiet struct{ answer *github.ErrorResponse }

func (quiet) Error() string   { return "answered by the API" }
func (q quiet) Unwrap() error { return q.answer }

// retryAfter reads the header of RFC 9110 §10.2.3, in seconds.
func retryAfter(resp *http.Response) (time.Duration, bool) {
	seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31)
	if err != nil {
		return unspecified, false
	}
	return time.Duration(seconds) * time.Second, true
}
