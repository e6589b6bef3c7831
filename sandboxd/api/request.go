package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/fault"
)

// MaxBody bounds the body of a request (ledger AP-1).
const MaxBody = 1 << 20

// requestKey is under what a request's context has its *request.
type requestKey struct{}

// request is what is known of a request besides what huma reads.
type request struct {
	id     string
	log    *slog.Logger
	caller account.Caller
	body   []byte
}

func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{log: slog.New(slog.DiscardHandler)}
}

// requestIDHeader names a request in its answer and in the log.
const requestIDHeader = "X-Request-Id"

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	about := &request{id: a.ids.New("req"), log: a.log}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, about))
	w.Header().Set(requestIDHeader, about.id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	defer func() {
		switch what := recover(); what {
		case nil:
		case http.ErrAbortHandler:
			panic(what)
		default:
			a.log.LogAttrs(r.Context(), slog.LevelError, "request panicked",
				slog.String("request_id", about.id), slog.Any("panic", what), slog.String("stack", string(debug.Stack())))
			// If the answer has begun, this only cuts it short.
			newFailure(r.Context(), fault.New(fault.Internal, "panic")).write(w)
		}
	}()
	if err := a.admit(w, r, about); err != nil {
		newFailure(r.Context(), err).write(w)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// admit checks all that doesn't depend on the operation, in the order in which
// it may be told to whom.
func (a *API) admit(w http.ResponseWriter, r *http.Request, about *request) error {
	if err := a.route(w, r); err != nil {
		return err
	}
	if err := checkQuery(r.URL.RawQuery); err != nil {
		return err
	}
	if a.open[r.URL.Path] {
		return nil
	}
	key, err := bearer(r.Header)
	if err != nil {
		return err
	}
	if about.caller, err = a.service.Authenticate(r.Context(), key); err != nil {
		return err
	}
	about.caller.RequestID = about.id
	about.body, err = readBody(w, r)
	return err
}

// route refuses what no operation answers. The mux would, in its own words.
func (a *API) route(w http.ResponseWriter, r *http.Request) error {
	_, pattern := a.mux.Handler(r)
	// For "//" and ".." the mux has a redirect; nobody of ours writes those.
	if pattern != "" && !strings.Contains(r.URL.Path, "//") && !strings.Contains(r.URL.Path, "/.") {
		return nil
	}
	answer := &onlyHeader{header: http.Header{}}
	if pattern == "" {
		a.mux.ServeHTTP(answer, r)
	}
	if answer.status == http.StatusMethodNotAllowed {
		allow := answer.header.Get("Allow")
		w.Header().Set("Allow", allow)
		return fault.New(fault.MethodNotAllowed, "this path takes %s, not %s", allow, strconv.Quote(r.Method))
	}
	return fault.New(fault.NotFound, "there is nothing at this path; GET /v1/openapi.json lists what there is")
}

// onlyHeader takes an answer without its body.
type onlyHeader struct {
	header http.Header
	status int
}

func (o *onlyHeader) Header() http.Header         { return o.header }
func (o *onlyHeader) WriteHeader(status int)      { o.status = status }
func (o *onlyHeader) Write(p []byte) (int, error) { return len(p), nil }

// checkQuery refuses what huma would skip: pairs that can't be read,
// parameters that are there twice, and empty ones.
func checkQuery(raw string) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return fault.New(fault.InvalidRequest, "the query can't be read: %v", err)
	}
	for name, all := range values {
		if len(all) > 1 {
			return fault.Invalid(name, "is there twice")
		}
		if all[0] == "" {
			return fault.Invalid(name, "is empty; leave it out")
		}
	}
	return nil
}

// bearer returns the API key of a request, "" if there is none.
func bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	if len(values) > 1 {
		return "", fault.New(fault.InvalidRequest, "the Authorization header is there twice")
	}
	if len(values) == 0 {
		return "", nil
	}
	scheme, key, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", nil
	}
	return strings.TrimSpace(key), nil
}

// readBody reads the whole body of a request, which must be JSON.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, fault.New(fault.PayloadTooLarge, "the body has more than %d bytes", MaxBody)
	case err != nil:
		return nil, fault.New(fault.InvalidRequest, "the body can't be read")
	case len(body) == 0:
		return nil, nil
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, fault.New(fault.UnsupportedMediaType, "send the body without a Content-Encoding")
	}
	if t := r.Header.Get("Content-Type"); t != "" {
		media, params, err := mime.ParseMediaType(t)
		charset := params["charset"]
		if err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
			return nil, fault.New(fault.UnsupportedMediaType, "send the body as application/json")
		}
	}
	return body, nil
}

// etag is the entity tag of a revision.
func etag(revision int64) string { return strconv.Quote(strconv.FormatInt(revision, 10)) }
