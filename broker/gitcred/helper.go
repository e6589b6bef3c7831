package gitcred

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Exit codes of the helper.
const (
	exitDone  = 0
	exitUsage = 2
)

const usage = `usage: git-credential-sallyport get|store|erase

Git runs this; it hands out short-lived credentials of the repositories that
this sandbox was granted. To see what it would answer:
  printf 'protocol=https\nhost=github.com\npath=octo/app.git\n\n' | git-credential-sallyport get
`

// maxReason bounds the line on standard error.
const maxReason = 400

// Helper is one run of the credential helper.
type Helper struct {
	Client         Client
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run does the action that git named and returns the exit code. A request that
// can't be understood, or that is about a host which isn't brokered, is left
// unanswered; for one that the broker refuses, git is told to quit, so that it
// neither prompts nor asks another helper, and the reason is one line on
// standard error.
func (h Helper) Run(ctx context.Context, args []string) int {
	if len(args) != 1 {
		io.WriteString(h.Stderr, usage)
		return exitUsage
	}
	switch args[0] {
	case "get":
		h.get(ctx)
	case "erase":
		h.erase(ctx)
	case "store":
		h.drain() // nothing is stored
	case "capability":
		h.drain()
		io.WriteString(h.Stdout, "version 0\ncapability "+authtype+"\n")
	default:
		h.drain()
		io.WriteString(h.Stderr, usage)
		return exitUsage
	}
	return exitDone
}

// drain reads what git still sends, which would otherwise die of SIGPIPE.
func (h Helper) drain() { _, _ = io.Copy(io.Discard, io.LimitReader(h.Stdin, 16*maxInput)) }

func (h Helper) read() (Request, error) {
	req, err := ReadRequest(h.Stdin)
	h.drain()
	return req, err
}

func (h Helper) get(ctx context.Context) {
	req, err := h.read()
	if err != nil {
		h.say(Request{}, err)
		return
	}
	if req.Protocol != "https" {
		return // a credential is never for a connection that can be read
	}
	got, err := h.Client.Get(ctx, req.Host, req.Path)
	answer := Answer{Username: got.Username, Password: got.Password, Expires: got.ExpiresAt, Ephemeral: req.Can(authtype)}
	switch {
	case errors.Is(err, ErrNotBrokered):
		return
	case err != nil:
		h.say(req, err)
		answer = Answer{Quit: true}
	}
	b, err := answer.Append(nil)
	if err != nil {
		h.say(req, err)
		return
	}
	// Git has gone if this fails.
	_, _ = h.Stdout.Write(b)
}

// erase tells the broker of a refused password. Whatever comes of it, git can't
// do anything about it.
func (h Helper) erase(ctx context.Context) {
	req, err := h.read()
	if err != nil || req.Protocol != "https" || req.Password == "" {
		return
	}
	_ = h.Client.Erase(ctx, req.Host, req.Path, req.Password)
}

// say prints the reason, one line of printable text.
func (h Helper) say(req Request, err error) {
	text := err.Error()
	if req.Path != "" {
		text = req.Host + "/" + req.Path + ": " + text
	}
	text = strings.Map(func(c rune) rune {
		if isControl(c) || c > '~' {
			return '?'
		}
		return c
	}, text)
	if len(text) > maxReason {
		text = text[:maxReason] + "..."
	}
	fmt.Fprintf(h.Stderr, "sallyport: %s\n", text)
}
