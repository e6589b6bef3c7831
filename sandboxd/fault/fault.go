// Package fault is what can go wrong with a call of the control API, as the
// caller is told: a code that programs branch on, a sentence for people, where
// in the request it is, and what the code alone doesn't say.
//
// Every package below sandboxd that refuses a call returns an *Error of this
// package. The API maps codes to HTTP statuses in one table; nothing else does.
// An error that is not an *Error is internal: its text goes to the log and the
// caller learns only its request id.
package fault

import (
	"errors"
	"fmt"
)

// A Code names one kind of failure. Codes never change meaning.
type Code string

// The codes (ledger AP-4 has their statuses).
const (
	InvalidRequest             Code = "invalid_request"
	Unauthenticated            Code = "unauthenticated"
	Forbidden                  Code = "forbidden"
	NotFound                   Code = "not_found"
	MethodNotAllowed           Code = "method_not_allowed"
	Conflict                   Code = "conflict"
	IdempotencyConflict        Code = "idempotency_conflict"
	SetupRunInFlight           Code = "setup_run_in_flight"
	SetupRunFinished           Code = "setup_run_finished"
	SandboxStateLost           Code = "sandbox_state_lost"
	ArtifactMissing            Code = "artifact_missing"
	PreconditionFailed         Code = "precondition_failed"
	PayloadTooLarge            Code = "payload_too_large"
	UnsupportedMediaType       Code = "unsupported_media_type"
	EnvironmentNotVerified     Code = "environment_not_verified"
	EnvironmentInvalid         Code = "environment_invalid_configuration"
	SetupFallbackUnsafe        Code = "setup_fallback_environment_unsafe"
	SecretNotFound             Code = "secret_not_found"
	SecretInjectionUnavailable Code = "secret_injection_unavailable"
	RefTemplateUnresolved      Code = "ref_template_unresolved"
	PreconditionRequired       Code = "precondition_required"
	RateLimited                Code = "rate_limited"
	SetupRunLimit              Code = "setup_run_limit"
	Internal                   Code = "internal"
	CapabilityNotSupported     Code = "capability_not_supported"
	SandboxCapacityUnavailable Code = "sandbox_capacity_unavailable"
	SandboxProvisionTimeout    Code = "sandbox_provision_timeout"
)

// Error is a refusal or failure that the caller may read whole: it holds no
// secret and nothing of another organisation.
type Error struct {
	Code    Code
	Message string         // a sentence that says what happened and what to do
	Param   string         // JSON path of the offending input, or empty
	Details map[string]any // what belongs to the code, for example "current" of a failed precondition
	Cause   error          // for the log, never for the caller
}

func (e *Error) Error() string {
	if e.Param == "" {
		return e.Message
	}
	return e.Param + ": " + e.Message
}

func (e *Error) Unwrap() error { return e.Cause }

// New returns an error of code with a formatted message.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns an InvalidRequest about the input at param.
func Invalid(param, format string, args ...any) *Error {
	return &Error{Code: InvalidRequest, Param: param, Message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of err, Internal for one that has none, and "" for
// nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}
