package inject

import (
	"bytes"
	"io"
	"net/http"
)

// Whole reads the body of r, which its signature covers, and puts it back. What
// is longer than limit bytes is a *[TooLargeError].
func Whole(r *http.Request, limit int) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > int64(limit) {
		return nil, &TooLargeError{Limit: limit}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
	switch {
	case err != nil:
		return nil, err
	case len(body) > limit:
		return nil, &TooLargeError{Limit: limit}
	}
	r.Body = &wholeBody{Reader: bytes.NewReader(body), from: r.Body}
	r.ContentLength = int64(len(body))
	return body, nil
}

// wholeBody is a body that has been read, with the one that it was read from.
type wholeBody struct {
	*bytes.Reader
	from io.Closer
}

func (b *wholeBody) Close() error { return b.from.Close() }
