package gitmount

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/sallyport/sallyport/sandboxd/inside"
)

// Workdir returns where a session's commands begin (ledger GB-24): in the first
// mount if asked is empty, in asked if that is absolute, otherwise in asked
// below the first mount. It is empty, and then there is no boot setup, if there
// is neither. The error is a *[DocumentError].
func Workdir(mounts []Mount, asked string) (string, error) {
	invalid := func(msg string) (string, error) {
		return "", &DocumentError{CodeInvalid, "working_directory", msg}
	}
	switch {
	case strings.ContainsFunc(asked, func(c rune) bool { return c < ' ' || c == 0x7f }) || len(asked) > maxPath:
		return invalid("expected a path without control characters")
	case path.IsAbs(asked):
		return path.Clean(asked), nil
	case len(mounts) == 0 && asked == "":
		return "", nil
	case len(mounts) == 0:
		return invalid("expected an absolute path, because there is no mount that it could be in")
	}
	dir := path.Join(mounts[0].Path, asked)
	if !within(dir, mounts[0].Path) {
		return invalid("expected a directory within the first mount")
	}
	return dir, nil
}

// resolveScript prints where a directory is without links.
const resolveScript = `cd -P -- "$1" 2>/dev/null && pwd -P`

// CheckWorkdir says whether the directory that Workdir has returned for asked is
// there, once the mounts are staged: a link in the repository mustn't lead a
// relative one out of its mount. The error is an *[Error] of CodePath.
func CheckWorkdir(ctx context.Context, run inside.Runner, mounts []Mount, asked string) error {
	dir, err := Workdir(mounts, asked)
	if err != nil || dir == "" {
		return err
	}
	m := Mount{Path: dir}
	if len(mounts) > 0 {
		m = mounts[0]
	}
	s := staging{run: run, mount: m, dir: "/"}
	fail := func(message string) error {
		return &Error{Code: CodePath, Mount: m.Path, Step: StepWorkdir, Message: message}
	}
	real, err := s.shell(ctx, resolveScript, "", dir)
	var e *gitError
	switch {
	case errors.As(err, &e):
		return fail("The working directory isn't there. Check working_directory, and that the ref has it.")
	case err != nil:
		return err
	case !path.IsAbs(asked) && !within(real, m.Path):
		return fail("The working directory is a link that leads out of its mount. Name the directory itself.")
	}
	return nil
}
