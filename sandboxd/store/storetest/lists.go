package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sallyport/sallyport/sandboxd/audit"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/id"
	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/setup"
	"github.com/sallyport/sallyport/sandboxd/store"
)

// Ledger: AP-6, EV-28
func pages(t *testing.T, s store.Store) {
	const n = 120
	var want []string
	for i := range n {
		e := environmentOf("org_1", fmt.Sprint(i))
		put(t, s, e, environmentOf("org_2", "another's"))
		want = append(want, e.ID)
	}
	slices.Reverse(want)
	var got []string
	q := store.EnvironmentQuery{PageQuery: store.PageQuery{Limit: 7}}
	for {
		var page store.Page[environment.Environment]
		view(t, s, func(r store.Reader) (err error) {
			page, err = r.Environments("org_1", q)
			return err
		})
		for _, e := range page.Items {
			got = append(got, e.ID)
		}
		if page.Next == "" {
			break
		}
		// What comes meanwhile is newer than all that is still to come, and
		// the one that the next page starts after may go.
		put(t, s, environmentOf("org_1", "new"))
		update(t, s, func(w store.Writer) error { return w.DeleteEnvironment("org_1", page.Next) })
		q.After = page.Next
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d of %d environments, in the order\n%v", len(got), n, got)
	}
	view(t, s, func(r store.Reader) error {
		if _, err := r.Environments("org_1", store.EnvironmentQuery{}); err == nil {
			t.Error("a page without a limit")
		}
		return nil
	})
}

func prefixes(t *testing.T, s store.Store) {
	for _, name := range []string{"api", "API", "ap", "x-api", "a%", "a_i", "äpi", "äp"} {
		put(t, s, environmentOf("org_1", name))
	}
	cases := []struct {
		prefix string
		want   []string
	}{
		{"api", []string{"api"}},
		{"ap", []string{"ap", "api"}},
		{"a%", []string{"a%"}},
		{"a_", []string{"a_i"}},
		{"ä", []string{"äp", "äpi"}},
		{"none", nil},
	}
	for _, c := range cases {
		view(t, s, func(r store.Reader) error {
			page, err := r.Environments("org_1", store.EnvironmentQuery{NamePrefix: c.prefix, PageQuery: store.PageQuery{Limit: 10}})
			var got []string
			for _, e := range page.Items {
				got = append(got, e.Definition.Name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("prefix %q: %q", c.prefix, got)
			}
			return err
		})
	}
}

// Ledger: SV-32, SV-38, SV-39
func standings(t *testing.T, s store.Store) {
	env, other := environmentOf("org_1", "env"), environmentOf("org_1", "other")
	put(t, s, env, other)
	captured := image.Image{ID: ids.New(id.Image), OrganizationID: "org_1"}
	passed := runOf(env, setup.Succeeded)
	passed.ImageID = captured.ID
	failed, cancelled, active := runOf(env, setup.Failed), runOf(env, setup.Cancelled), runOf(env, setup.Queued)
	ofSession := runOf(env, setup.Failed)
	ofSession.Kind = setup.Session
	ended := active
	ended.Status, ended.FinishedAt = setup.Cancelled, moment

	steps := []struct {
		name                  string
		put                   any
		verdict, last, active string
		image                 bool
	}{
		{"a pass", passed, passed.ID, passed.ID, "", false},
		{"its image", captured, passed.ID, passed.ID, "", true},
		{"a session's run", ofSession, passed.ID, passed.ID, "", true},
		{"cancelled", cancelled, passed.ID, cancelled.ID, "", true},
		{"one in flight", active, passed.ID, cancelled.ID, active.ID, true},
		{"cancelled as well", ended, passed.ID, ended.ID, "", true},
		{"a failure", failed, failed.ID, failed.ID, "", false},
	}
	for _, step := range steps {
		put(t, s, step.put)
		view(t, s, func(r store.Reader) error {
			all, err := r.Standings(env.ID, other.ID)
			got := all[env.ID]
			if idOf(got.Verdict) != step.verdict || idOf(got.Last) != step.last || idOf(got.Active) != step.active ||
				(got.Image != nil) != step.image || len(all) != 1 {
				t.Errorf("%s: %+v", step.name, all)
			}
			used, usedErr := r.ImagesInUse()
			if slices.Equal(used, []string{captured.ID}) != (step.verdict == passed.ID) {
				t.Errorf("%s: images in use: %q", step.name, used)
			}
			return errors.Join(err, usedErr)
		})
	}
	view(t, s, func(r store.Reader) error {
		any, err := r.AnyRun(failed.ID)
		same(t, any, err, failed)
		page, err := r.Runs(env.ID, store.PageQuery{Limit: 2})
		if err != nil || len(page.Items) != 2 || page.Next != page.Items[1].ID || page.Items[0].ID < page.Items[1].ID {
			t.Errorf("runs: %+v, %v", page, err)
		}
		return nil
	})
}

func idOf(r *setup.Run) string {
	if r == nil {
		return ""
	}
	return r.ID
}

// Ledger: SV-12, SV-14
func runsEndOnce(t *testing.T, s store.Store) {
	env := environmentOf("org_1", "env")
	run := runOf(env, setup.Queued)
	put(t, s, env, run)
	second := runOf(env, setup.Queued)
	if err := s.Update(t.Context(), func(w store.Writer) error { return w.PutRun(second) }); err == nil {
		t.Error("two manual runs of one environment at once")
	}
	ofSession := second
	ofSession.Kind = setup.Session
	put(t, s, ofSession)
	view(t, s, func(r store.Reader) error {
		n, err := r.CountUnfinishedRuns("org_1", setup.Manual)
		unfinished, listErr := r.UnfinishedRuns()
		if n != 1 || len(unfinished) != 2 || unfinished[0].ID != run.ID {
			t.Errorf("%d manual, all %+v", n, unfinished)
		}
		return errors.Join(err, listErr)
	})
	for _, status := range []setup.Status{setup.Provisioning, setup.Running, setup.Succeeded} {
		run.Status, run.FinishedAt = status, moment
		put(t, s, run)
	}
	for _, status := range []setup.Status{setup.Running, setup.Failed, setup.Succeeded} {
		run.Status = status
		if err := s.Update(t.Context(), func(w store.Writer) error { return w.PutRun(run) }); err == nil {
			t.Errorf("a run that has ended became %s", status)
		}
	}
}

func forgottenRuns(t *testing.T, s store.Store) {
	kept, gone := environmentOf("org_1", "kept"), environmentOf("org_1", "gone")
	old, fresh, alive, unfinished := runOf(gone, setup.Failed), runOf(gone, setup.Failed), runOf(kept, setup.Failed), runOf(gone, setup.Queued)
	fresh.FinishedAt = moment.Add(time.Hour)
	put(t, s, kept, gone, old, fresh, alive, unfinished)
	update(t, s, func(w store.Writer) error { return w.DeleteEnvironment("org_1", gone.ID) })
	update(t, s, func(w store.Writer) error {
		ids, err := w.ForgetRuns(moment.Add(time.Minute))
		if !slices.Equal(ids, []string{old.ID}) {
			t.Errorf("forgotten: %q", ids)
		}
		return err
	})
	view(t, s, func(r store.Reader) error {
		if _, err := r.Run("org_1", old.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the forgotten run: %v", err)
		}
		for _, run := range []setup.Run{fresh, alive, unfinished} {
			if _, err := r.Run("org_1", run.ID); err != nil {
				t.Errorf("a run that is to stay: %v", err)
			}
		}
		return nil
	})
}

// Ledger: AP-5
func firstResults(t *testing.T, s store.Store) {
	first := store.FirstResult{OrganizationID: "org_1", Key: "k", Request: [32]byte{1}, Result: []byte(`{"a":1}`), At: moment}
	other := first
	other.OrganizationID, other.At = "org_2", moment.Add(time.Hour)
	update(t, s, func(w store.Writer) error { return errors.Join(w.PutFirstResult(first), w.PutFirstResult(other)) })
	first.Result = []byte("{}")
	update(t, s, func(w store.Writer) error { return w.PutFirstResult(first) })
	view(t, s, func(r store.Reader) error {
		got, err := r.FirstResult("org_1", "k")
		same(t, got, err, first)
		return nil
	})
	update(t, s, func(w store.Writer) error { return w.ForgetFirstResults(moment.Add(time.Millisecond)) })
	view(t, s, func(r store.Reader) error {
		if _, err := r.FirstResult("org_1", "k"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the old result: %v", err)
		}
		got, err := r.FirstResult("org_2", "k")
		same(t, got, err, other)
		return nil
	})
}

func entry(action string) audit.Entry {
	return audit.Entry{At: moment, OrganizationID: "org_1", Action: action, Subject: "env_1"}
}

// Ledger: LO-9
func auditChain(t *testing.T, s store.Store) {
	const n = 600 // more than an implementation reads at once
	update(t, s, func(w store.Writer) error {
		for i := range n {
			if err := w.Audit(entry(fmt.Sprint(i))); err != nil {
				return err
			}
		}
		return nil
	})
	view(t, s, func(r store.Reader) error {
		head, err := r.AuditHead()
		if err != nil || head.Sequence != n {
			t.Errorf("head: %+v, %v", head, err)
		}
		if got, err := audit.Verify(r.AuditLinks(0), &head); err != nil || got != head {
			t.Errorf("verify: %+v, %v", got, err)
		}
		for link, err := range r.AuditLinks(n - 2) {
			e, entryErr := link.Entry()
			if errors.Join(err, entryErr) != nil || e.Action != fmt.Sprint(n-2) {
				t.Errorf("the last but one: %+v, %v", e, err)
			}
			break
		}
		return nil
	})
}
