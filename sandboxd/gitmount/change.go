package gitmount

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// checkout makes HEAD, the index and the files those of a commit. The index is
// made anew: an agent's could say that a changed file isn't.
func (s staging) checkout(ctx context.Context, commit string) error {
	if _, err := s.git(ctx, "update-ref", "--no-deref", "-m", "sallyport: stage "+s.mount.Ref, "HEAD", commit); err != nil {
		return err
	}
	if _, err := s.shell(ctx, `rm -rf .git/index`, ""); err != nil {
		return err
	}
	_, err := s.git(ctx, "reset", "--hard", "--quiet", commit)
	return err
}

// clean removes every file that isn't of the commit, and returns those that
// .gitignore names: the others have been saved.
func (s staging) clean(ctx context.Context) (removed []string, err error) {
	args := []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"}
	listed, err := s.git(ctx, args...)
	if err != nil {
		return nil, err
	}
	clean := []string{"clean", "-ffdxq"}
	for _, name := range s.reserved() {
		clean = append(clean, "--exclude=/"+name)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		if name != "" && !s.isReserved(name) && len(removed) < MaxRemoved {
			removed = append(removed, name)
		}
	}
	_, err = s.git(ctx, clean...)
	return removed, err
}

// reserved are the platform's directories within the mount.
func (s staging) reserved() []string {
	if s.mount.Path == workspace {
		return reserved
	}
	return nil
}

func (s staging) isReserved(name string) bool {
	for _, r := range s.reserved() {
		if within(strings.TrimSuffix(name, "/"), r) {
			return true
		}
	}
	return false
}

// settle makes the new state the one that counts: its commit is remembered, and
// what was moved away goes, unless it holds something that is nowhere else.
func (s staging) settle(ctx context.Context, commit string, before *state) (aside []string, err error) {
	if _, err := s.git(ctx, "update-ref", stagedRef, commit); err != nil {
		return nil, err
	}
	for _, n := range before.moved {
		if !n.recoverable {
			aside = append(aside, s.mount.Path+"/"+n.to)
			continue
		}
		if _, err := s.shell(ctx, `rm -rf "$1"`, "", n.to); err != nil {
			return aside, err
		}
	}
	return aside, nil
}

// restore brings back what save saw.
func (s staging) restore(ctx context.Context, before *state) error {
	var errs []error
	do := func(args ...string) {
		_, err := s.git(ctx, args...)
		errs = append(errs, err)
	}
	do("read-tree", "--reset", "-u", before.files)
	for _, n := range slices.Backward(before.moved) {
		_, err := s.shell(ctx, `set -e; rm -rf "$2"; mkdir -p "$(dirname "$2")"; mv "$1" "$2"`, "", n.to, n.from)
		errs = append(errs, err)
	}
	switch {
	case before.branch != "":
		do("symbolic-ref", "HEAD", before.branch)
	case before.commit != "":
		do("update-ref", "--no-deref", "HEAD", before.commit)
	}
	switch {
	case before.index != "":
		do("read-tree", before.index)
	case before.commit != "":
		do("read-tree", before.commit)
	default:
		do("read-tree", "--empty")
	}
	if errors.Join(errs...) == nil {
		// It is all there again.
		for _, saved := range before.saved {
			do("update-ref", "-d", saved.Ref, saved.Commit)
		}
	}
	return errors.Join(errs...)
}
