package gitmount

import (
	"context"
	"fmt"
	"strconv"
)

// fetch brings the requested commit and returns its id. It changes nothing that
// the directory shows.
func (s staging) fetch(ctx context.Context) (string, error) {
	shallow, err := s.git(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return "", err
	}
	held, err := s.git(ctx, "for-each-ref", "--count=1")
	if err != nil {
		return "", err
	}
	args := []string{"fetch", "--quiet", "--force", "--no-tags", "--no-recurse-submodules"}
	switch {
	case s.mount.Depth == 0 && shallow == "true":
		args = append(args, "--unshallow")
	case s.mount.Depth > 0 && (shallow == "true" || held == ""):
		// A repository that is whole stays so: what was fetched isn't taken away.
		args = append(args, "--depth", strconv.Itoa(s.mount.Depth))
	}
	if _, err := s.git(ctx, append(args, "origin", s.mount.Ref)...); err != nil {
		return "", err
	}
	commit, err := s.git(ctx, "rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}")
	if err != nil {
		return "", &refError{}
	}
	if !commitID.MatchString(commit) {
		return "", fmt.Errorf("git names no commit: %.80q", commit)
	}
	return commit, nil
}

// refError says that a ref is there but names no commit.
type refError struct{}

func (*refError) Error() string { return "the ref names no commit" }
