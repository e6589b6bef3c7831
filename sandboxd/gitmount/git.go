package gitmount

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/sandboxd/inside"
)

// hardened begins every command line of git. What it sets on the command line
// wins over whatever the repository's configuration says.
var hardened = []string{
	"env", "-u", "GIT_DIR", "-u", "GIT_WORK_TREE", "-u", "GIT_INDEX_FILE", "-u", "GIT_OBJECT_DIRECTORY",
	"-u", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "-u", "GIT_COMMON_DIR", "-u", "GIT_NAMESPACE", "-u", "GIT_ASKPASS", "-u", "SSH_ASKPASS",
	"-u", "GIT_EXTERNAL_DIFF", "-u", "GIT_TRACE", "-u", "GIT_TRACE_CURL", "-u", "GIT_CURL_VERBOSE",
	"git",
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.attributesFile=/dev/null",
	"-c", "core.excludesFile=/dev/null",
	"-c", "core.pager=cat",
	"-c", "submodule.recurse=false",
	"-c", "fetch.recurseSubmodules=false",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "commit.gpgSign=false",
	// A server that stalls isn't waited for.
	"-c", "http.lowSpeedLimit=1000",
	"-c", "http.lowSpeedTime=60",
}

// environment is that of every git: no configuration of the user's or the
// image's, no protocol but HTTPS for submodules either, no replaced objects, and
// messages that [classify] knows.
var environment = []string{
	"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_ALLOW_PROTOCOL=https",
	"GIT_NO_REPLACE_OBJECTS=1", "GIT_TERMINAL_PROMPT=0", "GIT_LFS_SKIP_SMUDGE=1", "LC_ALL=C",
}

// staging is one mount being staged.
type staging struct {
	run   inside.Runner
	mount Mount
	dir   string // of the repository: the mount's or one within
}

// at returns the staging's repository at a directory below.
func (s staging) at(below string) staging {
	s.dir = s.mount.Path + "/" + below
	return s
}

// exec runs a command of ours in the repository.
func (s staging) exec(ctx context.Context, c inside.Command) (inside.Result, error) {
	if c.Dir == "" {
		c.Dir = s.dir
	}
	return s.run(ctx, c)
}

// try runs git. The error is that it couldn't be run.
func (s staging) try(ctx context.Context, args ...string) (inside.Result, error) {
	return s.tryWith(ctx, nil, args...)
}

func (s staging) tryWith(ctx context.Context, env []string, args ...string) (inside.Result, error) {
	return s.exec(ctx, inside.Command{
		Argv: append(slices.Clone(hardened), args...),
		Env:  append(slices.Clone(environment), env...),
	})
}

// git runs git and returns what it wrote, without the line end. Any failure is
// an error.
func (s staging) git(ctx context.Context, args ...string) (string, error) {
	return s.gitWith(ctx, nil, args...)
}

func (s staging) gitWith(ctx context.Context, env []string, args ...string) (string, error) {
	result, err := s.tryWith(ctx, env, args...)
	if err != nil {
		return "", err
	}
	if result.Code != 0 {
		return "", &gitError{args[0], result}
	}
	return whole(result)
}

// ask runs git for an answer that it may not have: then it is empty.
func (s staging) ask(ctx context.Context, args ...string) (string, error) {
	text, err := s.git(ctx, args...)
	var e *gitError
	if errors.As(err, &e) && e.result.Code == 1 {
		return "", nil
	}
	return text, err
}

// gitError is git's own failure.
type gitError struct {
	command string
	result  inside.Result
}

func (e *gitError) Error() string {
	return fmt.Sprintf("git %s: exit code %d: %s", e.command, e.result.Code, inside.Line(e.result.Stderr))
}

// shell runs a script of ours with arguments in the repository.
func (s staging) shell(ctx context.Context, script, stdin string, args ...string) (string, error) {
	result, err := s.exec(ctx, inside.Command{Argv: append([]string{"sh", "-c", script, "sallyport"}, args...), Env: environment, Stdin: stdin})
	if err != nil {
		return "", err
	}
	if result.Code != 0 {
		return "", &gitError{"mount", result}
	}
	return whole(result)
}

// whole returns what a command wrote, without the line end. To act on the
// beginning of a list would be to forget the rest.
func whole(result inside.Result) (string, error) {
	if len(result.Stdout) >= inside.MaxOutput {
		return "", errors.New("the answer is too long")
	}
	return strings.TrimSuffix(result.Stdout, "\n"), nil
}
