// Package storetest is the suite that every store passes.
package storetest

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/id"
	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/setup"
	"github.com/sallyport/sallyport/sandboxd/store"
)

// Test holds what open returns, a new and empty store, to the contract of
// package store. The suite closes what it opens.
func Test(t *testing.T, open func(t *testing.T) store.Store) {
	t.Helper()
	tests := []struct {
		name string
		test func(*testing.T, store.Store)
	}{
		{"records come back as they were", recordsComeBack},
		{"what isn't there is not found", nothingIsFound},
		{"organisations are apart", organizationsAreApart},
		{"a failed update leaves nothing", failedUpdate},
		{"updates are alone", updatesAreAlone},
		{"a view is of one moment", viewIsOfOneMoment},
		{"pages hold everything once", pages},
		{"names are found by prefix", prefixes},
		{"runs decide what an environment's standing is", standings},
		{"runs end once", runsEndOnce},
		{"runs of deleted environments are forgotten", forgottenRuns},
		{"first results are kept for a time", firstResults},
		{"audit entries make a chain", auditChain},
		{"a backup is of one moment", backups},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			t.Cleanup(func() {
				if err := s.Check(t.Context()); err != nil && t.Context().Err() == nil {
					t.Errorf("check: %v", err)
				}
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			c.test(t, s)
		})
	}
}

var moment = time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC)

// ids are made in the order in which things are stored.
var ids id.Source

func environmentOf(organizationID, name string) environment.Environment {
	return environment.Environment{
		ID: ids.New(id.Environment), OrganizationID: organizationID, Revision: 1,
		Definition: environment.Definition{Name: name, Provider: "runs", Metadata: json.RawMessage("{}")}, CreatedAt: moment, UpdatedAt: moment,
	}
}

func runOf(e environment.Environment, status setup.Status) setup.Run {
	r := setup.Run{
		ID: ids.New(id.SetupRun), OrganizationID: e.OrganizationID, EnvironmentID: e.ID,
		Kind: setup.Manual, Status: status, CreatedAt: moment,
	}
	if status.Terminal() {
		r.FinishedAt = moment.Add(time.Second)
	}
	return r
}

func update(t *testing.T, s store.Store, f func(store.Writer) error) {
	t.Helper()
	if err := s.Update(t.Context(), f); err != nil {
		t.Fatalf("update: %v", err)
	}
}

func view(t *testing.T, s store.Store, f func(store.Reader) error) {
	t.Helper()
	if err := s.View(t.Context(), f); err != nil {
		t.Fatalf("view: %v", err)
	}
}

// put stores environments and runs.
func put(t *testing.T, s store.Store, records ...any) {
	t.Helper()
	update(t, s, func(w store.Writer) error {
		for _, r := range records {
			var err error
			switch r := r.(type) {
			case environment.Environment:
				err = w.PutEnvironment(r)
			case setup.Run:
				err = w.PutRun(r)
			case image.Image:
				err = w.PutImage(r)
			default:
				err = errors.New("unknown record")
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func same[T any](t *testing.T, got T, err error, want T) {
	t.Helper()
	if err != nil {
		t.Errorf("read %T: %v", want, err)
	} else if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%T changed (-want +got):\n%s", want, d)
	}
}

// fullEnvironment has every setting.
func fullEnvironment(organizationID, userID string) environment.Environment {
	env := environmentOf(organizationID, "a ☃ <b> \u2028")
	env.Definition = environment.Definition{
		Name: env.Definition.Name, Provider: "runs", Description: "d", WorkspaceGiB: 5,
		Resources:     environment.Resources{Accelerator: &environment.Accelerator{Type: "gpu", Name: "l4", Count: 1}},
		Setup:         environment.Setup{Script: "true\n", TimeoutSeconds: 60},
		NetworkPolicy: policy.Document{Rules: []policy.Rule{{HostGlob: "*.example.com", Action: policy.Allow}, {HostGlob: "*"}}},
		Privileged:    true, ComputerUse: true, IdleStopAfterSeconds: 1, StoppedDeleteAfterSeconds: 2,
		EnvVars:   map[string]string{"A": "1", "B": "\x01"},
		Mounts:    []environment.Mount{{Source: "https://example.com/x", Path: "x"}},
		Image:     "img_1",
		Metadata:  json.RawMessage(`{"n":12345678901234567890.10,"a":[null,{}]}`),
		Steps:     []string{"apt-get update"},
		BootSetup: []environment.BootStep{{Name: "s", Commands: []string{"true"}, Cache: &environment.Cache{Key: "k", Paths: []string{"/home/user/x"}, Files: []string{"go.sum"}}}},
	}
	env.Warnings = []environment.Warning{{Code: "c", Line: 2, Message: "m"}}
	env.SetupUpdatedAt, env.SetupUpdatedBy = moment, userID
	return env
}

func recordsComeBack(t *testing.T, s store.Store) {
	code := 3
	organization := account.Organization{ID: ids.New(id.Organization), Name: "octo", CreatedAt: moment}
	user := account.User{ID: ids.New(id.User), OrganizationID: organization.ID, Name: "jane", CreatedAt: moment}
	key := account.Key{
		ID: ids.New(id.Key), OrganizationID: organization.ID, UserID: user.ID, Name: "ci", Role: account.Member,
		Digest: [32]byte{1, 2, 3}, CreatedAt: moment, ExpiresAt: moment.Add(time.Hour),
	}
	env := fullEnvironment(organization.ID, user.ID)
	open := environmentOf(organization.ID, "open")
	open.Definition.NetworkPolicy.Unrestricted = true
	run := runOf(env, setup.Failed)
	run.ExitCode, run.FailedLine, run.FailedCommand, run.StderrTail = &code, 2, "false", "no\n"
	run.Phase, run.Fingerprint, run.ImageID, run.HintCode, run.Hint, run.FailureCode = setup.Script, "f", "img_1", "no_space", "h", "environment_setup_failed"
	run.StartedAt, run.LogLines, run.LogBytes, run.LogTruncated = moment, 1<<40, 2, true
	captured := image.Image{
		ID: ids.New(id.Image), OrganizationID: organization.ID, EnvironmentID: env.ID, Fingerprint: "f", RunnerID: "img_0",
		State: image.Usable, Layers: []string{"a", "b"}, SizeBytes: 7, Tools: []string{"git"}, CreatedAt: moment,
	}
	update(t, s, func(w store.Writer) error {
		return errors.Join(w.PutOrganization(organization), w.PutUser(user), w.PutKey(key),
			w.PutEnvironment(env), w.PutEnvironment(open), w.PutRun(run), w.PutImage(captured))
	})
	view(t, s, func(r store.Reader) error {
		organizations, err := r.Organizations()
		same(t, organizations, err, []account.Organization{organization})
		gotUser, err := r.User(organization.ID, user.ID)
		same(t, gotUser, err, user)
		gotKey, err := r.KeyByDigest(key.Digest)
		same(t, gotKey, err, key)
		gotKey, err = r.Key(organization.ID, key.ID)
		same(t, gotKey, err, key)
		gotEnv, err := r.Environment(organization.ID, env.ID)
		same(t, gotEnv, err, env)
		gotEnv, err = r.Environment(organization.ID, open.ID)
		same(t, gotEnv, err, open)
		gotRun, err := r.Run(organization.ID, run.ID)
		same(t, gotRun, err, run)
		gotImage, err := r.Image(captured.ID)
		same(t, gotImage, err, captured)
		images, err := r.AllImages()
		same(t, images, err, []image.Image{captured})
		keys, err := r.Keys(organization.ID, store.PageQuery{Limit: 1})
		same(t, keys.Items, err, []account.Key{key})
		return nil
	})
	key.RevokedAt = moment
	env.Definition.Name, env.Revision = "changed", 2
	captured.State = image.Missing
	update(t, s, func(w store.Writer) error {
		return errors.Join(w.PutKey(key), w.PutEnvironment(env), w.PutImage(captured))
	})
	view(t, s, func(r store.Reader) error {
		gotKey, err := r.KeyByDigest(key.Digest)
		same(t, gotKey, err, key)
		gotEnv, err := r.Environment(organization.ID, env.ID)
		same(t, gotEnv, err, env)
		gotImage, err := r.Image(captured.ID)
		same(t, gotImage, err, captured)
		return nil
	})
	update(t, s, func(w store.Writer) error {
		return errors.Join(w.DeleteEnvironment(organization.ID, env.ID), w.DeleteImage(captured.ID))
	})
	view(t, s, func(r store.Reader) error {
		_, errEnv := r.Environment(organization.ID, env.ID)
		_, errImage := r.Image(captured.ID)
		if !errors.Is(errEnv, store.ErrNotFound) || !errors.Is(errImage, store.ErrNotFound) {
			t.Errorf("after deletion: %v, %v", errEnv, errImage)
		}
		gotRun, err := r.Run(organization.ID, run.ID)
		same(t, gotRun, err, run)
		return nil
	})
}
