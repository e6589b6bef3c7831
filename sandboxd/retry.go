package sandboxd

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/store"
)

// Retry names a request that a client may send again: the same key with the
// same request within a day has the first one's result (ledger AP-5). The zero
// value is a request of its own.
type Retry struct {
	Key     string
	Request [32]byte // digest of what was asked for
}

// NewRetry returns the Retry of a request with an idempotency key, which may be
// empty. The parts are all that the request says.
func NewRetry(key string, parts ...[]byte) Retry {
	if key == "" {
		return Retry{}
	}
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write(part)
	}
	return Retry{key, [32]byte(h.Sum(nil))}
}

// retryWindow is how long a first result is kept.
const retryWindow = 24 * time.Hour

// recall returns the first result of a request that was made before.
func recall[T any](s *Service, r store.Reader, c account.Caller, retry Retry) (result T, found bool, err error) {
	if retry.Key == "" {
		return result, false, nil
	}
	first, err := r.FirstResult(c.OrganizationID, retry.Key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return result, false, nil
	case err != nil:
		return result, false, err
	case !first.At.After(s.now().Add(-retryWindow)):
		return result, false, nil
	case first.Request != retry.Request:
		return result, false, fault.New(fault.IdempotencyConflict,
			"the Idempotency-Key was used for another request less than 24 hours ago; use a new one for a new request")
	}
	if err := json.Unmarshal(first.Result, &result); err != nil {
		return result, false, fmt.Errorf("decode first result: %w", err)
	}
	return result, true, nil
}

// remember keeps a result for who asks again.
func remember[T any](s *Service, w store.Writer, c account.Caller, retry Retry, result T) error {
	if retry.Key == "" {
		return nil
	}
	data, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode first result: %w", err)
	}
	now := s.now()
	if err := w.ForgetFirstResults(now.Add(-retryWindow)); err != nil {
		return err
	}
	return w.PutFirstResult(store.FirstResult{
		OrganizationID: c.OrganizationID, Key: retry.Key, Request: retry.Request, Result: data, At: now,
	})
}
