package gitmount

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

const (
	// stagedRef is the commit that was staged last.
	stagedRef = "refs/sallyport/staged"
	// savedRef begins the refs of saved work; a number follows.
	savedRef = "refs/sallyport/saved/"
	// worktreeIndex is an index of all files, beside the agent's own.
	worktreeIndex = ".git/sallyport/index"
)

// state is what a repository was before it was changed.
type state struct {
	branch string   // that HEAD follows; empty if it is detached
	commit string   // of HEAD; empty if there is none
	index  string   // tree of the index; empty if it can't be one
	files  string   // tree of all files that .gitignore doesn't name
	nested []string // repositories within, which no tree holds
	saved  []Saved
	moved  []nested
}

// ownIndex makes git use it.
var ownIndex = []string{"GIT_INDEX_FILE=" + worktreeIndex}

// saver commits what is saved.
var saver = []string{
	"GIT_AUTHOR_NAME=Sallyport", "GIT_AUTHOR_EMAIL=sallyport@localhost", "GIT_COMMITTER_NAME=Sallyport", "GIT_COMMITTER_EMAIL=sallyport@localhost",
}

// save puts under refs whatever of the agent's a checkout would hide: changed
// and new files, what is staged, and commits that no branch has.
func (s staging) save(ctx context.Context) (*state, error) {
	before, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	base, err := s.baseTree(ctx, before)
	if err != nil {
		return nil, err
	}
	if before.files != base || before.index != "" && before.index != base {
		commit, err := s.stash(ctx, before, base)
		if err != nil {
			return nil, err
		}
		return before, s.keep(ctx, before, commit, true)
	}
	if before.commit == "" {
		return before, nil
	}
	held, err := s.git(ctx, "for-each-ref", "--count=1", "--contains", before.commit)
	if err != nil || held != "" {
		return before, err
	}
	return before, s.keep(ctx, before, before.commit, false)
}

// look returns what the repository shows.
func (s staging) look(ctx context.Context) (before *state, err error) {
	before = &state{}
	if before.branch, err = s.ask(ctx, "symbolic-ref", "-q", "HEAD"); err != nil {
		return nil, err
	}
	if before.commit, err = s.ask(ctx, "rev-parse", "-q", "--verify", "HEAD^{commit}"); err != nil {
		return nil, err
	}
	// An index in the middle of a merge, or a broken one, is no tree.
	before.index, err = s.git(ctx, "write-tree")
	var e *gitError
	if err != nil && !errors.As(err, &e) {
		return nil, err
	}
	if _, err := s.shell(ctx, `rm -rf "$1" "$1.lock"`, "", worktreeIndex); err != nil {
		return nil, err
	}
	if before.commit != "" {
		if _, err := s.gitWith(ctx, ownIndex, "read-tree", before.commit); err != nil {
			return nil, err
		}
	}
	if before.nested, err = s.findNested(ctx); err != nil {
		return nil, err
	}
	add := []string{"add", "--all", "--", "."}
	for _, dir := range before.nested {
		add = append(add, ":(exclude,literal)"+dir)
	}
	if _, err := s.gitWith(ctx, ownIndex, add...); err != nil {
		return nil, err
	}
	before.files, err = s.gitWith(ctx, ownIndex, "write-tree")
	return before, err
}

// baseTree returns the tree that unchanged files would have.
func (s staging) baseTree(ctx context.Context, before *state) (string, error) {
	if before.commit == "" {
		return s.git(ctx, "hash-object", "-t", "tree", "-w", "/dev/null")
	}
	return s.git(ctx, "rev-parse", "--verify", before.commit+"^{tree}")
}

// stash makes a commit of the form that git-stash(1) reads: the files, on top
// of HEAD and of a commit of the index.
func (s staging) stash(ctx context.Context, before *state, base string) (string, error) {
	commit := func(tree, message string, parents ...string) (string, error) {
		args := []string{"commit-tree", tree, "-m", message}
		for _, p := range parents {
			args = append(args, "-p", p)
		}
		return s.gitWith(ctx, saver, args...)
	}
	first := before.commit
	if first == "" {
		var err error
		if first, err = commit(base, "nothing"); err != nil {
			return "", err
		}
	}
	tree := before.index
	if tree == "" {
		tree = base
	}
	index, err := commit(tree, "index before the mount was staged", first)
	if err != nil {
		return "", err
	}
	return commit(before.files, "work before the mount was staged", first, index)
}

// keep puts a commit under the next free ref.
func (s staging) keep(ctx context.Context, before *state, commit string, stash bool) error {
	taken, err := s.git(ctx, "for-each-ref", "--format=%(refname)", savedRef)
	if err != nil {
		return err
	}
	name := nextName(taken)
	if _, err := s.git(ctx, "update-ref", name, commit, ""); err != nil {
		return err
	}
	before.saved = append(before.saved, Saved{Ref: name, Commit: commit, Stash: stash})
	return nil
}

// nextName returns the ref after the last of those that are taken.
func nextName(taken string) string {
	last := 0
	for name := range strings.Lines(taken) {
		n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(name), savedRef))
		if err == nil && n > last {
			last = n
		}
	}
	return savedRef + strconv.Itoa(last+1)
}
