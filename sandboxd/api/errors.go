package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sallyport/sallyport/sandboxd/fault"
)

// statuses is the one table from codes to HTTP statuses (ledger AP-4).
var statuses = map[fault.Code]int{
	fault.InvalidRequest:             http.StatusBadRequest,
	fault.Unauthenticated:            http.StatusUnauthorized,
	fault.Forbidden:                  http.StatusForbidden,
	fault.NotFound:                   http.StatusNotFound,
	fault.MethodNotAllowed:           http.StatusMethodNotAllowed,
	fault.Conflict:                   http.StatusConflict,
	fault.IdempotencyConflict:        http.StatusConflict,
	fault.SetupRunInFlight:           http.StatusConflict,
	fault.SetupRunFinished:           http.StatusConflict,
	fault.SandboxStateLost:           http.StatusConflict,
	fault.ArtifactMissing:            http.StatusConflict,
	fault.PreconditionFailed:         http.StatusPreconditionFailed,
	fault.PayloadTooLarge:            http.StatusRequestEntityTooLarge,
	fault.UnsupportedMediaType:       http.StatusUnsupportedMediaType,
	fault.EnvironmentNotVerified:     http.StatusUnprocessableEntity,
	fault.EnvironmentInvalid:         http.StatusUnprocessableEntity,
	fault.SetupFallbackUnsafe:        http.StatusUnprocessableEntity,
	fault.SecretNotFound:             http.StatusUnprocessableEntity,
	fault.SecretInjectionUnavailable: http.StatusUnprocessableEntity,
	fault.RefTemplateUnresolved:      http.StatusUnprocessableEntity,
	fault.PreconditionRequired:       http.StatusPreconditionRequired,
	fault.RateLimited:                http.StatusTooManyRequests,
	fault.SetupRunLimit:              http.StatusTooManyRequests,
	fault.Internal:                   http.StatusInternalServerError,
	fault.CapabilityNotSupported:     http.StatusNotImplemented,
	fault.SandboxCapacityUnavailable: http.StatusServiceUnavailable,
	fault.SandboxProvisionTimeout:    http.StatusGatewayTimeout,
}

// Status returns the HTTP status of a code; an unknown one is our fault.
func Status(code fault.Code) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// Error is the body of every answer that isn't a success.
type Error struct {
	Error ErrorBody `json:"error"`
}

// ErrorBody says what went wrong.
type ErrorBody struct {
	Code      string         `json:"code" doc:"What programs branch on." example:"invalid_request"`
	Message   string         `json:"message" doc:"A sentence for people."`
	Param     string         `json:"param,omitempty" doc:"JSON path of what is wrong in the request."`
	Details   map[string]any `json:"details,omitempty" doc:"What belongs to the code."`
	RequestID string         `json:"request_id" doc:"Names the request in the service's log."`
}

// failure is an error on its way out. Huma writes it as it is.
type failure struct {
	Body   ErrorBody `json:"error"`
	status int
	header http.Header
}

var (
	_ huma.StatusError  = (*failure)(nil)
	_ huma.HeadersError = (*failure)(nil)
)

func (f *failure) Error() string           { return f.Body.Message }
func (f *failure) GetStatus() int          { return f.status }
func (f *failure) GetHeaders() http.Header { return f.header }

// newFailure says what the caller may know of err. An error that is none of
// package fault is logged and stays here.
func newFailure(ctx context.Context, err error) *failure {
	about := requestOf(ctx)
	var e *fault.Error
	if !errors.As(err, &e) || e.Code == fault.Internal {
		if ctx.Err() == nil { // what a client that has gone made fail is nobody's fault
			about.log.LogAttrs(ctx, slog.LevelError, "request failed", slog.String("request_id", about.id), slog.Any("error", err))
		}
		e = fault.New(fault.Internal, "the service failed; its log has more under the request id")
	}
	f := &failure{
		Body:   ErrorBody{Code: string(e.Code), Message: e.Message, Param: e.Param, Details: e.Details, RequestID: about.id},
		status: Status(e.Code),
		header: http.Header{},
	}
	switch f.status {
	case http.StatusUnauthorized:
		f.header.Set("WWW-Authenticate", `Bearer realm="sallyport"`)
	case http.StatusTooManyRequests:
		f.header.Set("Retry-After", retryAfter(e.Details))
	}
	return f
}

// defaultRetryAfter is in seconds, for limits that don't know better.
const defaultRetryAfter = "5"

func retryAfter(details map[string]any) string {
	switch seconds := details["retry_after_seconds"].(type) {
	case int, int64:
		return fmt.Sprint(seconds)
	}
	return defaultRetryAfter
}

// write answers with the failure, where huma doesn't.
func (f *failure) write(w http.ResponseWriter) {
	for name, values := range f.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_ = json.NewEncoder(w).Encode(f)
}

// adopt gives huma our errors, in place of its own shape and of 422 for input
// that is wrong. Huma v2.37 makes them through a variable of its package, so
// there can be only one way in a process; nothing else of ours uses it.
var adopt = sync.OnceFunc(func() {
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		return newFailure(ctx.Context(), translate(status, msg, errs))
	}
})

// translate turns what huma found in a request into a fault.
func translate(status int, msg string, errs []error) error {
	var detail *huma.ErrorDetail
	for _, err := range errs {
		if errors.As(err, &detail) {
			break
		}
	}
	if status >= 400 && status < 500 {
		if detail == nil {
			return fault.New(fault.InvalidRequest, "%s", msg)
		}
		_, param, _ := strings.Cut(detail.Location, ".")
		return fault.Invalid(param, "%s", detail.Message)
	}
	return errors.Join(append([]error{errors.New(msg)}, errs...)...)
}
