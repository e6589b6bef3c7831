package sandboxd

import (
	"context"
	"errors"
	"time"

	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/setup"
	"github.com/sallyport/sallyport/sandboxd/store"
)

// MaxWait is the longest that a call waits for news; a longer wait is cut.
const MaxWait = 5 * time.Second

// StartEnvironmentSetupRun starts a manual run.
func (s *Service) StartEnvironmentSetupRun(ctx context.Context, c account.Caller, environmentID string, retry Retry) (setup.Run, error) {
	if err := may(c, account.Member); err != nil {
		return setup.Run{}, err
	}
	var env environment.Environment
	var first setup.Run
	var again bool
	err := s.o.Store.View(ctx, func(r store.Reader) (err error) {
		if first, again, err = recall[setup.Run](s, r, c, retry); err != nil || again {
			return err
		}
		env, err = r.Environment(c.OrganizationID, environmentID)
		return notFound(err, "environment", environmentID)
	})
	if err != nil || again {
		return first, err
	}
	return s.start(ctx, c, env, retry)
}

// start starts a manual run of a saved environment.
func (s *Service) start(ctx context.Context, c account.Caller, env environment.Environment, retry Retry) (setup.Run, error) {
	if env.Definition.Setup.Script == "" {
		return setup.Run{}, fault.New(fault.InvalidRequest, "the environment has no setup script to run; set setup.script first")
	}
	var first *setup.Run
	ctx = together(ctx, func(w store.Writer, run setup.Run) error {
		remembered, again, err := recall[setup.Run](s, w, c, retry)
		if again {
			first = &remembered
			err = errors.New("the request was made before")
		}
		if err != nil {
			return err
		}
		// Between reading the environment and now it may be gone.
		if _, err := w.Environment(c.OrganizationID, env.ID); err != nil {
			return notFound(err, "environment", env.ID)
		}
		return errors.Join(w.Audit(s.entry(c, "setup_run.start", run.ID)), remember(s, w, c, retry, run))
	})
	run, err := s.o.Runs.Start(ctx, setup.Request{
		OrganizationID: env.OrganizationID, EnvironmentID: env.ID,
		Definition: env.Definition, Fingerprint: environment.Fingerprint(env.Definition),
		Kind: setup.Manual, RequestedBy: c.UserID,
	})
	if err == nil || retry.Key == "" {
		return run, err
	}
	// The same request may have come twice at once and the other one won.
	if first == nil {
		viewErr := s.o.Store.View(ctx, func(r store.Reader) error {
			remembered, again, err := recall[setup.Run](s, r, c, retry)
			if again {
				first = &remembered
			}
			return err
		})
		if viewErr != nil {
			return setup.Run{}, viewErr
		}
	}
	if first != nil {
		return *first, nil
	}
	return run, err
}

// ListEnvironmentSetupRuns lists the runs of an environment, the newest first.
func (s *Service) ListEnvironmentSetupRuns(ctx context.Context, c account.Caller, environmentID string, q store.PageQuery) (page store.Page[setup.Run], err error) {
	if err := may(c, account.Viewer); err != nil {
		return page, err
	}
	err = s.o.Store.View(ctx, func(r store.Reader) (err error) {
		if _, err := r.Environment(c.OrganizationID, environmentID); err != nil {
			return notFound(err, "environment", environmentID)
		}
		page, err = r.Runs(environmentID, q)
		return err
	})
	return page, err
}

// own refuses a run that isn't one of the caller's environment.
func (s *Service) own(ctx context.Context, c account.Caller, environmentID, id string) error {
	return s.o.Store.View(ctx, func(r store.Reader) error {
		if _, err := r.Environment(c.OrganizationID, environmentID); err != nil {
			return notFound(err, "environment", environmentID)
		}
		run, err := r.Run(c.OrganizationID, id)
		if err == nil && run.EnvironmentID != environmentID {
			err = store.ErrNotFound
		}
		return notFound(err, "setup run", id)
	})
}

// GetEnvironmentSetupRun returns a run, with a wait once it has changed.
func (s *Service) GetEnvironmentSetupRun(ctx context.Context, c account.Caller, environmentID, id string, wait time.Duration) (setup.Run, error) {
	if err := may(c, account.Viewer); err != nil {
		return setup.Run{}, err
	}
	if err := s.own(ctx, c, environmentID, id); err != nil {
		return setup.Run{}, err
	}
	return s.o.Runs.Get(ctx, id, min(wait, MaxWait))
}

// GetEnvironmentSetupRunLog returns lines of a run's log, with a wait once
// there are any.
func (s *Service) GetEnvironmentSetupRunLog(ctx context.Context, c account.Caller, environmentID, id string, after int64, limit int, wait time.Duration) (setup.Page, error) {
	if err := may(c, account.Viewer); err != nil {
		return setup.Page{}, err
	}
	if err := s.own(ctx, c, environmentID, id); err != nil {
		return setup.Page{}, err
	}
	return s.o.Runs.Log(ctx, id, after, limit, min(wait, MaxWait))
}

// CancelEnvironmentSetupRun ends a run without a verdict.
func (s *Service) CancelEnvironmentSetupRun(ctx context.Context, c account.Caller, environmentID, id string) (setup.Run, error) {
	if err := may(c, account.Member); err != nil {
		return setup.Run{}, err
	}
	if err := s.own(ctx, c, environmentID, id); err != nil {
		return setup.Run{}, err
	}
	run, err := s.o.Runs.Cancel(ctx, id)
	if err != nil {
		return run, err
	}
	return run, s.o.Store.Update(ctx, func(w store.Writer) error {
		return w.Audit(s.entry(c, "setup_run.cancel", id))
	})
}
