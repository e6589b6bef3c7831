package gitmount

import (
	"context"
	"fmt"
	"strings"
)

// nested is something within the mount that no tree of it can hold: a
// repository, or the repositories of its submodules. It is moved into the
// mount's .git.
type nested struct {
	from, to    string // relative to the mount
	recoverable bool   // it holds nothing that isn't elsewhere as well
}

// modules is where git keeps the repositories of submodules.
const modules = ".git/modules"

// findNestedScript prints the directories that hold a .git of their own, each
// but those within another.
const findNestedScript = `find . -path ./.git -prune -o -name .git -print | LC_ALL=C sort | while IFS= read -r at; do
	d=${at%/.git}
	case $d/ in
	"$last"/*) continue ;;
	esac
	last=$d
	printf '%s\n' "${d#./}"
done`

// findNested returns the repositories within the mount.
func (s staging) findNested(ctx context.Context) ([]string, error) {
	listed, err := s.shell(ctx, findNestedScript, "")
	if err != nil || listed == "" {
		return nil, err
	}
	return strings.Split(listed, "\n"), nil
}

// moveNested moves the repositories within the mount aside, and those of its
// submodules: a checkout may delete them, and what is in them isn't saved.
func (s staging) moveNested(ctx context.Context, before *state) error {
	name, err := s.shell(ctx, nameScript, "")
	if err != nil {
		return err
	}
	all := true
	var found []nested
	for _, from := range before.nested {
		n := nested{from: from, to: ".git/sallyport/aside/" + name + "/" + from}
		if n.recoverable, err = s.recoverable(ctx, from, before); err != nil {
			return err
		}
		all = all && n.recoverable
		found = append(found, n)
	}
	found = append(found, nested{from: modules, to: ".git/sallyport/aside/" + name + "-modules", recoverable: all})
	for _, n := range found {
		moved, err := s.shell(ctx, moveScript, "", n.from, n.to)
		if err != nil {
			return err
		}
		if moved != "" {
			before.moved = append(before.moved, n)
		}
	}
	return nil
}

// moveScript moves what is at $1, if there is anything, to $2, and says so.
const moveScript = `set -e
if [ -e "$1" ] || [ -L "$1" ]; then
	mkdir -p "$(dirname "$2")"
	mv "$1" "$2"
	echo moved
fi`

// recoverable reports whether a directory is a submodule of what was checked
// out, at the commit that is named there, with nothing changed or committed.
func (s staging) recoverable(ctx context.Context, dir string, before *state) (bool, error) {
	if before.commit == "" {
		return false, nil
	}
	entry, err := s.git(ctx, "ls-tree", "-z", before.commit, "--", ":(literal)"+dir)
	if err != nil {
		return false, nil //nolint:nilerr // what git can't tell is kept
	}
	fields := strings.Fields(entry)
	if len(fields) < 3 || fields[0] != "160000" {
		return false, nil
	}
	within := s.at(dir)
	for _, args := range [][]string{
		{"status", "--porcelain", "--untracked-files=all", "--ignored=traditional"},
		{"rev-list", "-n1", "HEAD", "--all", "--not", "--remotes", fields[2]},
	} {
		result, err := within.try(ctx, args...)
		if err != nil {
			return false, fmt.Errorf("look at %s: %w", dir, err)
		}
		if result.Code != 0 || result.Stdout != "" {
			return false, nil
		}
	}
	return true, nil
}
