package gitmount

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/sandboxd/inside"
)

//go:embed prepare.sh
var prepareScript string

// Exit codes of prepare.sh.
const (
	codeLink     = 11
	codeFile     = 12
	codeNotMade  = 13
	codeNotOwned = 14
)

// pathError says why a directory can't be a mount.
type pathError struct{ message, detail string }

func (e *pathError) Error() string { return e.message }

// prepare makes the directory a repository whose origin is the mount's URL, and
// whose configuration is ours.
func (s staging) prepare(ctx context.Context, report *Report) error {
	if err := s.makeDir(ctx); err != nil {
		return err
	}
	stamp, err := s.shell(ctx, nameScript, "")
	if err != nil {
		return err
	}
	// A .git that is a file or a link leads out of the mount; one that git
	// can't read is no use.
	broken, err := s.shell(ctx, `if [ -L .git ] || { [ -e .git ] && [ ! -d .git ]; }; then echo yes; fi`, "")
	if err != nil {
		return err
	}
	if broken == "" {
		if err = s.configure(ctx); err != nil {
			return err
		}
		works, err := s.try(ctx, "for-each-ref", "--count=1")
		if err != nil {
			return err
		}
		if works.Code != 0 {
			broken = "yes"
		}
	}
	if broken != "" {
		where, err := s.shell(ctx, replaceScript, "", stamp)
		if err != nil {
			return err
		}
		report.Aside = append(report.Aside, s.dir+"/"+where)
		if err := s.configure(ctx); err != nil {
			return err
		}
	}
	if _, err = s.shell(ctx, tidyScript, "", stamp); err != nil {
		return err
	}
	return s.unreplace(ctx)
}

// unreplace renames the refs by which git shows one object for another
// (git-replace(1)): the next staging's commit may be one.
func (s staging) unreplace(ctx context.Context) error {
	const from, to = "refs/replace/", "refs/sallyport/replace/"
	listed, err := s.git(ctx, "for-each-ref", "--format=%(objectname) %(refname)", from)
	if err != nil {
		return err
	}
	for line := range strings.Lines(listed) {
		object, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, err := s.git(ctx, "update-ref", to+strings.TrimPrefix(name, from), object); err != nil {
			return err
		}
		if _, err := s.git(ctx, "update-ref", "-d", name, object); err != nil {
			return err
		}
	}
	return nil
}

// nameScript prints a name that nothing is set aside under yet.
const nameScript = `n=0; while [ -e ".git/sallyport/aside/$n" ]; do n=$((n + 1)); done; echo $n`

// replaceScript puts what is at .git into a new one.
const replaceScript = `set -e
rm -rf .git.sallyport
mv .git .git.sallyport
mkdir -p ".git/sallyport/aside/$1"
mv .git.sallyport ".git/sallyport/aside/$1/dot-git"
echo ".git/sallyport/aside/$1"`

// tidyScript takes away what would stand in the way of a checkout or change
// what it writes: locks of a git that was killed, operations in progress, and
// attributes and grafts that aren't the repository's.
const tidyScript = `set -e
find .git -name '*.lock' ! -path '.git/sallyport/*' -type f -exec rm -f {} +
for f in rebase-merge rebase-apply sequencer MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD BISECT_START BISECT_LOG \
	config.worktree info/attributes info/grafts info/sparse-checkout; do
	if [ -e ".git/$f" ] || [ -L ".git/$f" ]; then
		mkdir -p ".git/sallyport/aside/$1"
		mv ".git/$f" ".git/sallyport/aside/$1/"
	fi
done`

// makeDir makes the directory, as the sandbox's user if it may, and checks that
// no link is on the way to it.
func (s staging) makeDir(ctx context.Context) error {
	result, err := s.run(ctx, inside.Command{Dir: "/", Argv: []string{"sh", "-c", prepareScript, "sallyport", s.dir}, Env: environment})
	if err != nil {
		return err
	}
	if result.Code == codeNotMade || result.Code == codeNotOwned {
		ids := strings.Fields(result.Stdout)
		if len(ids) != 2 {
			return errors.New("the sandbox doesn't say who its user is")
		}
		// Where its user can't write it can't put a link in our way either.
		result, err = s.run(ctx, inside.Command{
			Dir: "/", Root: true, Env: environment,
			Argv: []string{"sh", "-c", prepareScript, "sallyport", s.dir, ids[0], ids[1]},
		})
		if err != nil {
			return err
		}
	}
	switch detail := inside.Line(result.Stderr); result.Code {
	case 0:
		return nil
	case codeLink:
		return &pathError{"A symbolic link is on the way to the directory. Remove it, or choose another mountPath.", detail}
	case codeFile:
		return &pathError{"A file is in the place of the directory. Remove it, or choose another mountPath.", detail}
	case codeNotMade, codeNotOwned:
		return &pathError{"The directory can't be made, or isn't empty and belongs to another user. Choose another mountPath.", detail}
	default:
		return fmt.Errorf("make directory: exit code %d: %s", result.Code, detail)
	}
}
