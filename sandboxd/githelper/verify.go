package githelper

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/broker"
)

// ErrorCode is the code of every VerifyError: the platform's fault, not the
// repository's (ledger GB-9).
const ErrorCode = "git_auth_unavailable"

// Step is how far a credential got.
type Step string

// The steps, in order. StepHelper: the helper runs and answers. StepBroker: it
// reaches the broker. StepMint: the broker hands out a credential. StepRemote:
// the forge accepts it.
const (
	StepHelper Step = "helper"
	StepBroker Step = "broker"
	StepMint   Step = "mint"
	StepRemote Step = "ls-remote"
)

// VerifyError says at which step, and for which repository, git can't work.
type VerifyError struct {
	Repository string
	Step       Step
	Detail     string // the helper's or git's last line; holds no credential
}

func (e *VerifyError) Error() string {
	return fmt.Sprintf("%s: %s: %s: %s", ErrorCode, e.Repository, e.Step, e.Detail)
}

// Result is how a command ended.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Runner runs a command in the sandbox, with the environment that its user's
// commands have.
type Runner func(ctx context.Context, argv []string, stdin string) (Result, error)

// Verify follows the credential of each grant: helper, broker, mint and a look
// at the remote. The error is a *[VerifyError], or the Runner's own.
func Verify(ctx context.Context, run Runner, grants []broker.Granted) error {
	for _, g := range grants {
		if err := verify(ctx, run, g); err != nil {
			return err
		}
	}
	return nil
}

func verify(ctx context.Context, run Runner, g broker.Granted) error {
	fail := func(step Step, text string) error {
		return &VerifyError{Repository: g.Host.String() + "/" + g.Repository.String(), Step: step, Detail: lastLine(text)}
	}
	question := "protocol=https\nhost=" + g.Host.String() + "\npath=" + g.Repository.String() + ".git\n\n"
	got, err := run(ctx, []string{Path, "get"}, question)
	switch {
	case err != nil:
		return fmt.Errorf("verify git: %w", err)
	case got.Code != 0:
		return fail(StepHelper, fmt.Sprintf("exit code %d: %s", got.Code, got.Stderr))
	case strings.Contains(got.Stderr, "reach the broker"), strings.Contains(got.Stderr, "ask the broker"):
		return fail(StepBroker, got.Stderr)
	case !strings.Contains(got.Stdout, "password="):
		return fail(StepMint, got.Stderr)
	}
	if got, err = run(ctx, []string{"git", "ls-remote", "--quiet", g.URL(), "HEAD"}, ""); err != nil {
		return errors.Join(errors.New("verify git"), err)
	}
	if got.Code != 0 {
		return fail(StepRemote, got.Stderr)
	}
	return nil
}

// lastLine returns the last line that says something.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
