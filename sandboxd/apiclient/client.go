// Package apiclient is a client of the control API. For most uses, New makes
// one and each operation is a method of it, such as
// CreateEnvironmentWithResponse; those with a name that ends in
// WithBodyWithResponse send JSON that the caller has already.
//
// client.gen.go is made of openapi.json, which is the document that the API
// serves; "make client" makes both anew. The rest adds what a document can't
// say: how to authenticate, and that an error is an error.
package apiclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Failure is an answer of the API that isn't a success.
type Failure struct {
	Status int
	ErrorBody
}

func (f *Failure) Error() string {
	text := f.Message
	if f.Param != nil {
		text = *f.Param + ": " + text
	}
	return fmt.Sprintf("%s (%s, request %s)", text, f.Code, f.RequestId)
}

// timeout bounds a call; the longest answer waits seconds for news.
const timeout = time.Minute

// maxFailure bounds what is read of an error.
const maxFailure = 1 << 20

// New returns a client of the API at a URL such as http://127.0.0.1:7777 that
// authenticates with an API key. Its calls return a *Failure for every answer
// that isn't a success, so the JSONDefault of a response is always nil. It
// follows no redirect, for the key would go along.
func New(url, key string) (*ClientWithResponses, error) {
	inner := &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return NewClientWithResponses(url, WithHTTPClient(doer{inner}),
		WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+key)
			return nil
		}))
}

// doer makes errors of answers that are none.
type doer struct{ client *http.Client }

// Do implements HttpRequestDoer.
func (d doer) Do(r *http.Request) (*http.Response, error) {
	res, err := d.client.Do(r)
	if err != nil || res.StatusCode < 300 {
		return res, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxFailure))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s %s: %w", r.Method, r.URL.Path, err)
	}
	var body Error
	if err := json.Unmarshal(data, &body); err != nil || body.Error.Code == "" {
		return nil, fmt.Errorf("%s %s: unexpected answer %s: is this the address of sandboxd?", r.Method, r.URL.Path, res.Status)
	}
	return nil, &Failure{Status: res.StatusCode, ErrorBody: body.Error}
}
