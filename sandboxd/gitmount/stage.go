package gitmount

import (
	"context"
	"errors"
	"time"

	"github.com/sallyport/sallyport/sandboxd/inside"
)

// Cause is why a sandbox has started. The zero value leaves everything as it
// is.
type Cause int

const (
	// Resume: a command came after an idle stop. Work that isn't committed is
	// still wanted (ledger GB-25).
	Resume Cause = iota
	// Start: the sandbox is new.
	Start
	// Delivery: something new is to be worked on, from the requested ref.
	Delivery
)

// StageTime is how long one mount may take, unless its context ends before.
const StageTime = 15 * time.Minute

// restoreTime is how long it may take to undo a staging.
const restoreTime = 2 * time.Minute

// Report says what was done to one mount.
type Report struct {
	Mount  string // its directory
	Commit string // that is checked out; empty after a Resume
	// Saved is work that the directory no longer shows, in refs of its own.
	Saved []Saved
	// Aside are directories within the mount's .git that hold what couldn't be
	// put in a ref: repositories within the mount, a .git that was broken.
	Aside []string
	// Removed are files that .gitignore names and that are gone, at most
	// [MaxRemoved], directories as a whole.
	Removed []string
}

// MaxRemoved is how many files a Report names.
const MaxRemoved = 100

// Saved is work of an agent that was kept: "git stash apply REF" brings it back
// if Stash, "git log REF" shows it otherwise.
type Saved struct {
	Ref, Commit string
	Stash       bool
}

// Stage makes the directory of each mount the requested commit of its
// repository, and clean, in order (ledger GB-17, GB-18, GB-25). It returns a
// report for each mount that it has staged. The error, an *[Error] unless the
// sandbox itself fails, is of the first that it couldn't: that one is as it was
// before, but for a .git/config of ours, and for what .gitignore names if it
// was Step clean.
//
// Nothing else of ours works on the directories meanwhile.
func Stage(ctx context.Context, run inside.Runner, mounts []Mount, cause Cause) ([]Report, error) {
	var reports []Report
	for _, m := range mounts {
		report := Report{Mount: m.Path}
		if cause != Resume {
			if err := stageOne(ctx, run, m, &report); err != nil {
				return reports, err
			}
		}
		reports = append(reports, report)
	}
	return reports, nil
}

func stageOne(ctx context.Context, run inside.Runner, m Mount, report *Report) error {
	ctx, cancel := context.WithTimeout(ctx, StageTime)
	defer cancel()
	s := staging{run: run, mount: m, dir: m.Path}
	if err := s.prepare(ctx, report); err != nil {
		return s.explain(StepPrepare, err)
	}
	commit, err := s.fetch(ctx)
	if err != nil {
		return s.explain(StepFetch, err)
	}
	before, err := s.save(ctx)
	if err != nil {
		return s.explain(StepSave, err)
	}
	if step, err := s.change(ctx, commit, before, report); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTime)
		defer cancel()
		return errors.Join(s.explain(step, err), s.explain(StepRestore, s.restore(ctx, before)))
	}
	report.Commit, report.Saved = commit, before.saved
	return nil
}

// change makes the directory show commit. What it has done before an error is
// for restore to undo.
func (s staging) change(ctx context.Context, commit string, before *state, report *Report) (Step, error) {
	if err := s.moveNested(ctx, before); err != nil {
		return StepCheckout, err
	}
	if err := s.checkout(ctx, commit); err != nil {
		return StepCheckout, err
	}
	if s.mount.LFS {
		if err := s.lfs(ctx); err != nil {
			return StepLFS, err
		}
	}
	if s.mount.Submodules {
		if err := s.submodules(ctx); err != nil {
			return StepSubmodules, err
		}
	}
	removed, err := s.clean(ctx)
	if err != nil {
		return StepClean, err
	}
	report.Removed = removed
	// From here on the new state counts.
	aside, err := s.settle(ctx, commit, before)
	report.Aside = append(report.Aside, aside...)
	return StepClean, err
}
