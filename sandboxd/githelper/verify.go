package githelper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/sandboxd/inside"
)

// ErrorCode is the code of every VerifyError: the platform's fault, not the
// repository's (ledger GB-9).
const ErrorCode = "git_auth_unavailable"

// VerifyTime is how long Verify waits for one repository.
const VerifyTime = 30 * time.Second

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
	Repository string // with its host
	Step       Step
	// Message is what is wrong and what to do, in our words.
	Message string
	// Detail is the helper's or git's last line, printable. It holds no
	// credential, and may be empty.
	Detail string
}

func (e *VerifyError) Error() string {
	text := fmt.Sprintf("%s: %s: %s: %s", ErrorCode, e.Repository, e.Step, e.Message)
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

// Verify follows the credential of each grant: helper, broker, mint and a look
// at the remote, as a command of the sandbox's user would. It belongs between
// the start of a sandbox and its first command. The error is a *[VerifyError],
// or the Runner's own.
func Verify(ctx context.Context, run inside.Runner, grants []broker.Granted) error {
	for _, g := range grants {
		if err := verify(ctx, run, g); err != nil {
			return err
		}
	}
	return nil
}

// verification is one grant being verified.
type verification struct {
	run   inside.Runner
	grant broker.Granted
}

func verify(ctx context.Context, run inside.Runner, g broker.Granted) error {
	ctx, cancel := context.WithTimeout(ctx, VerifyTime)
	defer cancel()
	v := verification{run, g}
	err := v.helper(ctx)
	if err == nil {
		err = v.remote(ctx)
	}
	var known *VerifyError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return fmt.Errorf("verify git: %w", err)
}

func (v verification) fail(step Step, message, text string) error {
	return &VerifyError{
		Repository: v.grant.Host.String() + "/" + v.grant.Repository.String(),
		Step:       step, Message: message, Detail: inside.Line(text),
	}
}

// helper asks the helper for the credential, and drops it.
func (v verification) helper(ctx context.Context) error {
	question := "protocol=https\nhost=" + v.grant.Host.String() + "\npath=" + v.grant.Repository.String() + ".git\n\n"
	for {
		got, err := v.run(ctx, inside.Command{Argv: []string{Path, "get"}, Stdin: question})
		switch {
		case err != nil:
			return err
		case got.Code != 0:
			return v.fail(StepHelper, fmt.Sprintf("The credential helper ends with exit code %d. The image must let it run from %s.", got.Code, Path), got.Stderr)
		case strings.Contains(got.Stderr, "reach the broker"), strings.Contains(got.Stderr, "ask the broker"):
			return v.fail(StepBroker, "The helper can't reach the broker. Check that the edge runs, and start again.", got.Stderr)
		case strings.Contains(got.Stdout, "password="):
			return nil
		case !strings.Contains(got.Stderr, "(rate_limited"):
			return v.fail(StepMint, "No credential could be had. Check the grant's repository and access, and its issuer.", got.Stderr)
		}
		// A sandbox with many grants has them minted one a second.
		select {
		case <-ctx.Done():
			return v.fail(StepMint, "The broker mints no more for now. Start again later.", got.Stderr)
		case <-time.After(time.Second):
		}
	}
}

// remote looks at the repository as git does.
func (v verification) remote(ctx context.Context) error {
	got, err := v.run(ctx, inside.Command{Argv: []string{"git", "ls-remote", "--quiet", v.grant.URL(), "HEAD"}, Env: []string{"LC_ALL=C"}})
	switch {
	case err != nil:
		return err
	case got.Code == 0:
		return nil
	case got.Code == 127:
		return v.fail(StepRemote, "The image has no git. Use one that has it.", got.Stderr)
	case strings.Contains(got.Stderr, "CONNECT tunnel failed"), strings.Contains(got.Stderr, "from proxy after CONNECT"):
		return v.fail(StepRemote, "The edge lets nothing through to "+v.grant.Host.String()+". Allow the host in the network policy.", got.Stderr)
	}
	return v.fail(StepRemote, "The forge can't be reached, or doesn't accept the credential that was minted for it.", got.Stderr)
}
