package sandboxd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/audit"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/id"
	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/store"
	"github.com/sallyport/sallyport/sandboxd/verdict"
)

// An Environment is a saved environment and what its runs say about it.
type Environment struct {
	Saved   environment.Environment
	Verdict verdict.Verdict
}

// VerifyNotStarted is the code of the warning that a save succeeded and the run
// that was asked for with it didn't start.
const VerifyNotStarted = "verify_not_started"

// show adds the verdicts to saved environments.
func show(r store.Reader, saved ...environment.Environment) ([]Environment, error) {
	ids := make([]string, len(saved))
	for i, e := range saved {
		ids[i] = e.ID
	}
	standings, err := r.Standings(ids...)
	if err != nil {
		return nil, err
	}
	shown := make([]Environment, len(saved))
	for i, e := range saved {
		shown[i] = Environment{e, verdict.Of(e.Definition, history(standings[e.ID]))}
	}
	return shown, nil
}

func history(s store.Standing) verdict.History {
	h := verdict.History{Recorded: s.Verdict, Ended: s.Last, Active: s.Active}
	if r := s.Verdict; r != nil {
		switch {
		case s.Image != nil:
			h.Image = s.Image.State
		case r.ImageError != "":
			h.Image = image.Failed
		case r.ImageID != "":
			h.Image = image.Missing
		}
	}
	return h
}

// CreateEnvironment saves a new environment. With verify and a script it starts
// a setup run; that this fails is a warning of the result.
func (s *Service) CreateEnvironment(ctx context.Context, c account.Caller, p environment.Patch, verify bool, retry Retry) (Environment, error) {
	if err := may(c, account.Admin); err != nil {
		return Environment{}, err
	}
	var made Environment
	var again bool
	err := s.o.Store.Update(ctx, func(w store.Writer) (err error) {
		if made, again, err = recall[Environment](s, w, c, retry); err != nil || again {
			return err
		}
		made, err = s.create(w, c, p)
		if err != nil {
			return err
		}
		return remember(s, w, c, retry, made)
	})
	if err != nil || again || !verify {
		return made, err
	}
	if made, err = s.verify(ctx, c, made); err != nil || retry.Key == "" {
		return made, err
	}
	return made, s.o.Store.Update(ctx, func(w store.Writer) error { return remember(s, w, c, retry, made) })
}

func (s *Service) create(w store.Writer, c account.Caller, p environment.Patch) (Environment, error) {
	d, err := environment.Create(p, s.rules())
	if err != nil {
		return Environment{}, err
	}
	now := s.now()
	e := environment.Environment{
		ID: s.o.IDs.New(id.Environment), OrganizationID: c.OrganizationID, Definition: d,
		Warnings: d.Warnings(), CreatedAt: now, UpdatedAt: now, Revision: 1,
	}
	if d.Setup != (environment.Setup{}) {
		e.SetupUpdatedAt, e.SetupUpdatedBy = now, c.UserID
	}
	changes, err := recorded(environment.Definition{}, d, environment.Changes{"network_policy", "privileged"})
	if err != nil {
		return Environment{}, err
	}
	for i := range changes {
		changes[i].Old = nil
	}
	if err := errors.Join(w.PutEnvironment(e), w.Audit(s.entry(c, "environment.create", e.ID, changes...))); err != nil {
		return Environment{}, err
	}
	return Environment{e, verdict.Of(d, verdict.History{})}, nil
}

// recorded is what the audit record says of changes: all their names, and the
// values of those that decide what a sandbox may reach and do.
func recorded(before, after environment.Definition, names environment.Changes) ([]audit.Change, error) {
	var changes []audit.Change
	for _, name := range names {
		var old, next any
		switch name {
		case "network_policy":
			old, next = before.NetworkPolicy, after.NetworkPolicy
		case "privileged":
			old, next = before.Privileged, after.Privileged
		}
		c, err := change(name, old, next)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// verify starts the run that was asked for together with a save.
func (s *Service) verify(ctx context.Context, c account.Caller, saved Environment) (Environment, error) {
	if saved.Saved.Definition.Setup.Script == "" {
		return saved, nil
	}
	_, err := s.start(ctx, c, saved.Saved, Retry{})
	var refused *fault.Error
	if err != nil && !errors.As(err, &refused) {
		return Environment{}, err
	}
	shown, viewErr := s.GetEnvironment(ctx, c, saved.Saved.ID)
	if viewErr != nil {
		return Environment{}, viewErr
	}
	if err != nil {
		shown.Saved.Warnings = append(shown.Saved.Warnings, environment.Warning{
			Code: VerifyNotStarted, Message: "the environment is saved, but its setup run didn't start: " + refused.Message,
		})
	}
	return shown, nil
}

// ListEnvironments lists the organisation's environments, the newest first.
func (s *Service) ListEnvironments(ctx context.Context, c account.Caller, q store.EnvironmentQuery) (page store.Page[Environment], err error) {
	if err := may(c, account.Viewer); err != nil {
		return page, err
	}
	err = s.o.Store.View(ctx, func(r store.Reader) error {
		saved, err := r.Environments(c.OrganizationID, q)
		if err != nil {
			return err
		}
		page.Next = saved.Next
		page.Items, err = show(r, saved.Items...)
		return err
	})
	return page, err
}

// GetEnvironment returns an environment.
func (s *Service) GetEnvironment(ctx context.Context, c account.Caller, id string) (shown Environment, err error) {
	if err := may(c, account.Viewer); err != nil {
		return shown, err
	}
	err = s.o.Store.View(ctx, func(r store.Reader) error {
		saved, err := r.Environment(c.OrganizationID, id)
		if err != nil {
			return notFound(err, "environment", id)
		}
		all, err := show(r, saved)
		if err == nil {
			shown = all[0]
		}
		return err
	})
	return shown, err
}

// A Condition is what an environment must be for a change to happen. The zero
// value is met by every environment.
type Condition struct {
	// Revisions are the ones that the caller has seen; any of them will do.
	Revisions []int64
	// Set says that there is a condition, also when Revisions is empty.
	Set bool
}

func (c Condition) check(revision int64) error {
	if !c.Set {
		return nil
	}
	for _, r := range c.Revisions {
		if r == revision {
			return nil
		}
	}
	e := fault.New(fault.PreconditionFailed, "the environment changed since it was read; read it again, decide again, and send its present ETag")
	e.Param = "If-Match"
	e.Details = map[string]any{"current": map[string]any{"etag": fmt.Sprintf("%q", fmt.Sprint(revision))}}
	return e
}

// UpdateEnvironment changes an environment. Its preconditions and the change
// are one step. With verify and a script it starts a setup run, as
// CreateEnvironment does.
func (s *Service) UpdateEnvironment(ctx context.Context, c account.Caller, id string, p environment.Patch, condition Condition, verify bool) (Environment, error) {
	if err := may(c, account.Admin); err != nil {
		return Environment{}, err
	}
	var shown Environment
	err := s.o.Store.Update(ctx, func(w store.Writer) error {
		saved, err := w.Environment(c.OrganizationID, id)
		if err != nil {
			return notFound(err, "environment", id)
		}
		if err := condition.check(saved.Revision); err != nil {
			return err
		}
		saved, err = s.change(w, c, saved, p)
		if err != nil {
			return err
		}
		all, err := show(w, saved)
		if err == nil {
			shown = all[0]
		}
		return err
	})
	if err != nil || !verify {
		return shown, err
	}
	return s.verify(ctx, c, shown)
}

// change saves what p makes of an environment, if that is anything new.
func (s *Service) change(w store.Writer, c account.Caller, e environment.Environment, p environment.Patch) (environment.Environment, error) {
	next, names, err := environment.Update(e.Definition, p, s.rules())
	if err != nil || !names.Any() {
		return e, err
	}
	changes, err := recorded(e.Definition, next, names)
	if err != nil {
		return e, err
	}
	now := s.now()
	e.Definition, e.Warnings, e.UpdatedAt, e.Revision = next, next.Warnings(), now, e.Revision+1
	if names.Has("setup") {
		e.SetupUpdatedAt, e.SetupUpdatedBy = now, c.UserID
	}
	return e, errors.Join(w.PutEnvironment(e), w.Audit(s.entry(c, "environment.update", e.ID, changes...)))
}

// cancelWait bounds how long the deletion of an environment waits for its run
// to end. The run ends also when nobody waits.
const cancelWait = 20 * time.Second

// DeleteEnvironment removes an environment and cancels the manual run in
// flight. Running sessions keep their sandboxes.
func (s *Service) DeleteEnvironment(ctx context.Context, c account.Caller, id string, condition Condition) error {
	if err := may(c, account.Admin); err != nil {
		return err
	}
	var active string
	err := s.o.Store.Update(ctx, func(w store.Writer) error {
		saved, err := w.Environment(c.OrganizationID, id)
		if err != nil {
			return notFound(err, "environment", id)
		}
		if err := condition.check(saved.Revision); err != nil {
			return err
		}
		standings, err := w.Standings(id)
		if err != nil {
			return err
		}
		if run := standings[id].Active; run != nil {
			active = run.ID
		}
		return errors.Join(w.DeleteEnvironment(c.OrganizationID, id), w.Audit(s.entry(c, "environment.delete", id)))
	})
	if err != nil || active == "" {
		return err
	}
	// The environment is gone, whether or not the caller stays to hear it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
	defer cancel()
	if _, err := s.o.Runs.Cancel(ctx, active); err != nil && fault.CodeOf(err) != fault.SetupRunFinished {
		return fmt.Errorf("cancel the run of a deleted environment: %w", err)
	}
	return nil
}
