package sandboxd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/audit"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/environment/template"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/id"
	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/provider"
	"github.com/sallyport/sallyport/sandboxd/setup"
	"github.com/sallyport/sallyport/sandboxd/store"
)

// Runs carries setup runs out; *setup.Runner does.
type Runs interface {
	// Start accepts a run and returns it queued.
	Start(ctx context.Context, q setup.Request) (setup.Run, error)
	// Cancel ends a run without a verdict.
	Cancel(ctx context.Context, id string) (setup.Run, error)
	// Get returns a run, with a wait once it has changed or ended.
	Get(ctx context.Context, id string, wait time.Duration) (setup.Run, error)
	// Log returns at most limit lines after the one of seq after, with a wait
	// once there are any or the run has ended.
	Log(ctx context.Context, id string, after int64, limit int, wait time.Duration) (setup.Page, error)
}

var _ Runs = (*setup.Runner)(nil)

// An Offer is a runtime that environments can name.
type Offer struct {
	Description provider.Description
	// Rules is what its environments may have.
	Rules environment.Provider
	// Default says that it is what a console proposes.
	Default bool
}

// Options of a Service. Store and Runs are required.
type Options struct {
	Store  store.Store
	Runs   Runs
	Offers []Offer
	// ToolHosts are the hosts that package managers are configured to use, by
	// the names that setup templates know; nil: nobody knows.
	ToolHosts map[string][]string
	IDs       *id.Source       // nil: a source of its own
	Clock     func() time.Time // nil: time.Now
}

// Service has the operations. It is safe for concurrent use.
type Service struct{ o Options }

// New returns a Service.
func New(o Options) *Service {
	if o.IDs == nil {
		o.IDs = &id.Source{}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Service{o}
}

// now has the resolution that the API shows, so that what is stored is what is
// shown.
func (s *Service) now() time.Time { return s.o.Clock().UTC().Truncate(time.Millisecond) }

// may is the refusal of a caller whose role doesn't reach.
func may(c account.Caller, least account.Role) error {
	if c.Role.May(least) {
		return nil
	}
	e := fault.New(fault.Forbidden, "this needs the role %s; the key has the role %s", least, c.Role)
	e.Details = map[string]any{"required_role": string(least)}
	return e
}

// notFound turns the store's error into one about a thing that the caller
// named.
func notFound(err error, what, id string) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	e := fault.New(fault.NotFound, "there is no %s %q", what, id)
	e.Cause = err
	return e
}

// entry is an audit entry of what c does.
func (s *Service) entry(c account.Caller, action, subject string, changes ...audit.Change) audit.Entry {
	return audit.Entry{
		At:             s.now(),
		OrganizationID: c.OrganizationID,
		Actor:          audit.Actor{UserID: c.UserID, KeyID: c.KeyID, Role: string(c.Role)},
		Action:         action,
		Subject:        subject,
		RequestID:      c.RequestID,
		Changes:        changes,
	}
}

// change is a setting before and after.
func change(field string, before, after any) (audit.Change, error) {
	c := audit.Change{Field: field}
	var err error
	if before != nil {
		if c.Old, err = json.Marshal(before); err != nil {
			return c, fmt.Errorf("encode %s for the audit record: %w", field, err)
		}
	}
	if after != nil {
		if c.New, err = json.Marshal(after); err != nil {
			return c, fmt.Errorf("encode %s for the audit record: %w", field, err)
		}
	}
	return c, nil
}

// rules are what definitions are checked against.
func (s *Service) rules() environment.Rules {
	rules := environment.Rules{RunnerImages: []string{image.RunnerName, image.HostName}}
	for _, o := range s.o.Offers {
		rules.Providers = append(rules.Providers, o.Rules)
	}
	return rules
}

// ListSandboxProviders returns the runtimes, the same for every organisation.
func (s *Service) ListSandboxProviders(_ context.Context, c account.Caller) ([]Offer, error) {
	return s.o.Offers, may(c, account.Viewer)
}

// ListEnvironmentSetupTemplates returns scripts to start from. A template that
// is copied knows nothing of its copies.
func (s *Service) ListEnvironmentSetupTemplates(_ context.Context, c account.Caller) ([]template.Template, error) {
	return template.All(s.o.ToolHosts), may(c, account.Viewer)
}
