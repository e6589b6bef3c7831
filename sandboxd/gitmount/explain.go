package gitmount

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/sallyport/sallyport/sandboxd/inside"
)

// said are what git says, in its own English, about faults that have a code of
// ours. The first that matches counts.
var said = []struct {
	text    *regexp.Regexp
	code    Code
	message string
}{
	{
		regexp.MustCompile(`(?m)^sallyport: .*\(repository_not_granted`), CodeNotGranted,
		"The sandbox isn't granted this repository, or one that it has as a submodule. Add a grant for it to the session.",
	},
	{
		regexp.MustCompile(`(?m)^sallyport: `), CodeAuth,
		"No credential could be had for the repository. Check the grant and its issuer; the detail says what it answered.",
	},
	{
		regexp.MustCompile(`couldn't find remote ref|not our ref|unadvertised object|no such remote ref|did not contain`), CodeRef,
		"The repository has no such ref. Check the spelling of ref, and that the branch or commit has been pushed.",
	},
	{
		regexp.MustCompile(`CONNECT tunnel failed|returned error: 40[37]|Received HTTP code 40[37] from proxy`), CodeUnreachable,
		"The request was refused on its way. Allow the repository's host in the network policy; if it is, the forge denies access.",
	},
	{
		regexp.MustCompile(`Authentication failed|could not read (Username|Password)|returned error: 401|terminal prompts disabled|remote: .*[Nn]ot found|repository '.*' not found`), CodeAuth,
		"The forge doesn't accept the credential, or shows the repository only to others. Check that it exists and that the mount's auth names an issuer with access to it.",
	},
	{
		regexp.MustCompile(`Could not resolve host|Failed to connect|Couldn't connect|timed out|Connection (reset|refused)|SSL|early EOF|RPC failed|returned error: 5|too slow|Operation too slow`), CodeUnreachable,
		"The repository's host couldn't be reached. Check the network policy, and whether the forge is up; then start again.",
	},
	{
		regexp.MustCompile(`transport '.*' not allowed`), CodeFailed,
		"A submodule is fetched by another protocol than https. Change its URL in .gitmodules, or leave submodules off.",
	},
}

// messages are what is said of a step if nothing better is known.
var messages = map[Step]string{
	StepPrepare:    "The directory couldn't be made a repository. The detail says why.",
	StepFetch:      "The ref couldn't be fetched. The detail says why.",
	StepSave:       "The work in the directory couldn't be saved, so nothing was changed. The detail says why.",
	StepCheckout:   "The commit couldn't be checked out. Files of another user in the way are a common cause.",
	StepLFS:        "The files that LFS keeps couldn't be fetched. Check that the repository's own LFS server has them, or leave lfs off.",
	StepSubmodules: "The submodules couldn't be fetched. Check their URLs, and that each is granted, or leave submodules off.",
	StepClean:      "Files couldn't be removed. Files of another user are a common cause.",
	StepRestore:    "The directory couldn't be brought back to what it was; its work is in the refs below refs/sallyport/saved.",
}

// exitMissing is what a shell reports for a program that isn't there.
const exitMissing = 127

// explain gives an error of a step its code and its words. What isn't about
// the mount, such as a sandbox that has ended, stays as it is.
func (s staging) explain(step Step, err error) error {
	var (
		fromGit *gitError
		path    *pathError
		tool    *toolError
		ref     *refError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &path):
		return s.mount.fail(CodePath, step, path.message, path.detail)
	case errors.As(err, &tool):
		return s.mount.fail(CodeTool, step, "The image has no "+tool.name+". Use one that has it.", "")
	case errors.As(err, &ref):
		return s.mount.fail(CodeRef, step, "The ref names no commit. Name a branch, a tag or a commit.", "")
	case errors.Is(err, context.DeadlineExceeded):
		return s.mount.fail(CodeUnreachable, step, "It took too long. A smaller depth, or no submodules, take less.", "")
	case !errors.As(err, &fromGit):
		return err
	case fromGit.result.Code == exitMissing:
		return s.mount.fail(CodeTool, step, "The image has no git. Use one that has it.", inside.Line(fromGit.result.Stderr))
	}
	text := fromGit.result.Stderr
	for _, known := range said {
		if at := known.text.FindStringIndex(text); at != nil {
			end := at[1]
			if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
				end += i
			} else {
				end = len(text)
			}
			return s.mount.fail(known.code, step, known.message, inside.Line(text[:end]))
		}
	}
	return s.mount.fail(CodeFailed, step, messages[step], inside.Line(text))
}
