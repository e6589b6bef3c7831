package authorship

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/sandboxd/inside"
)

// Apply makes id the identity of the commits in a checkout, in its own
// configuration (ledger GB-27, GB-28), in the place of any that it had. The
// sandbox has the hooks. It can be called again at any time, for another
// requester above all; after a staging it must be.
func Apply(ctx context.Context, run inside.Runner, checkout string, id Identity) error {
	if err := id.check(); err != nil {
		return fmt.Errorf("apply identity: %w", err)
	}
	for _, argv := range id.commands() {
		if _, err := configure(ctx, run, checkout, argv...); err != nil {
			return fmt.Errorf("apply identity: %w", err)
		}
	}
	// A tool may have set a path of its own by now, which the hooks lead on to.
	code, err := configure(ctx, run, checkout, "--get", hooksKey)
	if err == nil && code == unsetCode {
		_, err = configure(ctx, run, checkout, hooksKey, HooksPath)
	}
	if err != nil {
		return fmt.Errorf("apply identity: %w", err)
	}
	return nil
}

// Codes of git-config(1) for what isn't there to get or to remove.
const (
	unsetCode   = 1
	removedCode = 5
)

// configure runs git config in a checkout.
func configure(ctx context.Context, run inside.Runner, checkout string, args ...string) (code int, err error) {
	result, err := run(ctx, inside.Command{Dir: checkout, Argv: append(slices.Clone(git), args...)})
	switch {
	case err != nil:
		return 0, err
	case result.Code == 0, result.Code == removedCode && args[0] == unset, result.Code == unsetCode && args[0] == "--get":
		return result.Code, nil
	}
	return result.Code, fmt.Errorf("git config in %s: exit code %d: %s", checkout, result.Code, inside.Line(result.Stderr))
}

// git is how the checkout's configuration is written, wherever the caller's
// variables point.
var git = []string{"env", "-u", "GIT_DIR", "-u", "GIT_COMMON_DIR", "git", "config", "--local"}

const unset = "--unset-all"

// commands are what follows [git], in order. user.* is the committer's too: it
// is what people look for, and what tools read.
func (id Identity) commands() [][]string {
	var all [][]string
	for _, setting := range [][2]string{
		{"user.name", id.Committer.Name}, {"user.email", id.Committer.Email},
		{"committer.name", id.Committer.Name}, {"committer.email", id.Committer.Email},
		{"author.name", id.Author.Name}, {"author.email", id.Author.Email},
	} {
		if setting[1] == "" {
			all = append(all, []string{unset, setting[0]})
		} else {
			all = append(all, []string{"--replace-all", setting[0], setting[1]})
		}
	}
	all = append(all, []string{unset, trailerKey})
	for _, trailer := range id.Trailers {
		all = append(all, []string{"--add", trailerKey, trailer})
	}
	return all
}

func (id Identity) check() error {
	for _, p := range []Person{id.Author, id.Committer} {
		if p != (Person{}) {
			if err := p.Check(); err != nil {
				return err
			}
		}
	}
	for _, trailer := range id.Trailers {
		if key, value, found := strings.Cut(trailer, ": "); !found || key == "" || value == "" || strings.ContainsAny(trailer, "\n\r\x00") {
			return errors.New("a trailer isn't of the form \"Key: value\" on one line")
		}
	}
	return nil
}
