package control

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/edge/strict"
)

var (
	errNoBoundary = errors.New("no boundary of that id is open")
	errNoSecret   = errors.New("no secret of that name has been pushed")
	errStopping   = errors.New("the edge is stopping")
)

// invalidError is a request that can't be meant.
type invalidError struct{ err error }

func (e invalidError) Error() string { return e.err.Error() }
func (e invalidError) Unwrap() error { return e.err }

func invalid(err error) error { return invalidError{err} }

// answer is one call of the API: a body to encode, or an error. A nil body is
// answered 204.
type answer func(r *http.Request) (any, error)

// routes returns the API. Listeners that arrive are served under ctx.
func (s *Server) routes(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, a answer) { mux.Handle(pattern, a) }
	handle("PUT /v1/boundaries/{id}", func(r *http.Request) (any, error) {
		files := descriptors(r)
		defer closeFiles(files)
		var req OpenRequest
		if err := decode(r, &req); err != nil {
			return nil, err
		}
		if req.Spec.ID != r.PathValue("id") {
			return nil, invalid(errors.New("spec.id: expected the id in the path"))
		}
		return s.openBoundary(ctx, req, files)
	})
	handle("DELETE /v1/boundaries/{id}", func(r *http.Request) (any, error) {
		return nil, s.closeBoundary(r.PathValue("id"))
	})
	handle("GET /v1/boundaries/{id}/env", func(r *http.Request) (any, error) {
		b := s.options.Table.Get(r.PathValue("id"))
		if b == nil {
			return nil, errNoBoundary
		}
		return OpenResponse{Env: placeholders(b)}, nil
	})
	handle("GET /v1/trust", func(*http.Request) (any, error) {
		return TrustResponse{CA: s.options.CA}, nil
	})
	handle("PUT /v1/secrets/{name}", func(r *http.Request) (any, error) {
		var req SetSecretRequest
		if err := decode(r, &req); err != nil {
			return nil, err
		}
		if err := s.options.Secrets.Set(r.PathValue("name"), req.Value); err != nil {
			return nil, invalid(err)
		}
		return nil, nil
	})
	handle("GET /v1/secrets", func(*http.Request) (any, error) {
		return listSecrets(s.options.Secrets), nil
	})
	handle("DELETE /v1/secrets/{name}", func(r *http.Request) (any, error) {
		if !s.options.Secrets.Delete(r.PathValue("name")) {
			return nil, errNoSecret
		}
		return nil, nil
	})
	s.keyringRoutes(handle)
	handle("GET /healthz", func(*http.Request) (any, error) {
		return HealthResponse{Boundaries: s.options.Table.Len(), Problem: s.options.Problem()}, nil
	})
	return mux
}

// ServeHTTP implements http.Handler.
func (a answer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	body, err := a(r)
	switch {
	case err != nil:
		status, code := classify(err)
		write(w, status, ErrorResponse{ErrorBody{Code: code, Message: err.Error()}})
	case body == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		write(w, http.StatusOK, body)
	}
}

// classify is the one map from an error to its status and code.
func classify(err error) (status int, code string) {
	if status, code := classifyKeyring(err); status != 0 {
		return status, code
	}
	var tooLarge *http.MaxBytesError
	var bad invalidError
	switch {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, "too_large"
	case errors.As(err, &bad):
		return http.StatusBadRequest, "invalid_request"
	case errors.Is(err, errNoBoundary), errors.Is(err, errNoSecret):
		return http.StatusNotFound, "not_found"
	case errors.Is(err, errStopping):
		return http.StatusServiceUnavailable, "stopping"
	default:
		return http.StatusInternalServerError, "internal"
	}
}

func listSecrets(s Secrets) SecretList {
	list := SecretList{Secrets: []SecretInfo{}}
	for name, version := range s.Versions() {
		list.Secrets = append(list.Secrets, SecretInfo{Name: name, Version: version})
	}
	slices.SortFunc(list.Secrets, func(a, b SecretInfo) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func decode(r *http.Request, v any) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return invalid(err)
	}
	if err := strict.JSON(data, v); err != nil {
		return invalid(err)
	}
	return nil
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The peer has gone if this fails; there is nobody left to tell.
	_ = json.NewEncoder(w).Encode(body)
}
