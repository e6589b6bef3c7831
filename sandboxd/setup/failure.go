package setup

import (
	"context"
	"errors"
	"fmt"

	"github.com/sallyport/sallyport/sandboxd/provider"
)

// The failure codes of runs, which sessions share (ledger SV-20).
const (
	FailSetup         = "environment_setup_failed"
	FailCapacity      = "sandbox_capacity_unavailable"
	FailTimeout       = "sandbox_provision_timeout"
	FailProvision     = "sandbox_provision_failed"
	FailMount         = "environment_mount_failed"
	FailConfiguration = "environment_invalid_configuration"
	FailGPU           = "gpu_unavailable"
	FailCheck         = "compute_check_failed"
	FailPrivileged    = "privileged_unavailable"
)

const messageInterrupted = "The run was interrupted: the service stopped. Start another one."

// failure is why a run didn't succeed, as its author may read it.
type failure struct {
	code    string
	message string // a sentence
	cause   error  // for the log of the service
}

func (f *failure) Error() string {
	if f.cause == nil {
		return f.message
	}
	return f.message + ": " + f.cause.Error()
}

func (f *failure) Unwrap() error { return f.cause }

func failed(code string, cause error, format string, args ...any) *failure {
	return &failure{code: code, cause: cause, message: fmt.Sprintf(format, args...)}
}

// provisionFailure says why compute didn't start.
func provisionFailure(ctx context.Context, err error) *failure {
	switch {
	case errors.Is(err, provider.ErrCapacity):
		return failed(FailCapacity, err, "No compute is available now. Start another run in a while.")
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return failed(FailTimeout, err, "Compute took too long to start. Start another run in a while.")
	case errors.Is(err, provider.ErrLayerMissing):
		return failed(FailProvision, err, "The image that the run starts on is incomplete: one of its layers is missing.")
	case errors.Is(err, provider.ErrUnsupported):
		return failed(FailConfiguration, err, "The environment asks for something that its provider doesn't have on this machine.")
	default:
		return failed(FailProvision, err, "Compute didn't start: it is a fault of the service, not of the script.")
	}
}
