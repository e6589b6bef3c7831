package gitmount

import (
	"context"
	"fmt"
	"strconv"
)

// submodules checks out the submodules of the commit, theirs too, as deep as
// the mount. Their URLs lead to https alone (GIT_ALLOW_PROTOCOL), and their
// credentials are what the boundary grants.
func (s staging) submodules(ctx context.Context) error {
	if _, err := s.git(ctx, "submodule", "sync", "--quiet", "--recursive"); err != nil {
		return err
	}
	args := []string{"submodule", "--quiet", "update", "--init", "--recursive", "--force", "--checkout", "--jobs", "1"}
	if s.mount.Depth > 0 {
		args = append(args, "--depth", strconv.Itoa(s.mount.Depth))
	}
	_, err := s.git(ctx, args...)
	return err
}

// lfs replaces pointers by what they point to, from the repository's own LFS
// server whatever its .lfsconfig says, and leaves git configured to go on with
// it. A pre-push hook that is there stays.
func (s staging) lfs(ctx context.Context) error {
	result, err := s.try(ctx, "lfs", "version")
	if err != nil {
		return err
	}
	if result.Code != 0 {
		return &toolError{"git-lfs"}
	}
	if _, err := s.git(ctx, "lfs", "install", "--local", "--skip-repo", "--force"); err != nil {
		return err
	}
	if _, err := s.try(ctx, "-c", "core.hooksPath=.git/hooks", "lfs", "update"); err != nil {
		return err
	}
	_, err = s.git(ctx, "-c", "lfs.url="+s.mount.URL()+"/info/lfs", "-c", "lfs.fetchinclude=", "-c", "lfs.fetchexclude=", "lfs", "pull")
	return err
}

// toolError says that the image lacks a program.
type toolError struct{ name string }

func (e *toolError) Error() string { return fmt.Sprintf("the image has no %s", e.name) }
