package storetest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/id"
	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/store"
)

func nothingIsFound(t *testing.T, s store.Store) {
	view(t, s, func(r store.Reader) error {
		_, environmentErr := r.Environment("org_1", "env_1")
		_, runErr := r.Run("org_1", "srun_1")
		_, imageErr := r.Image("img_1")
		_, userErr := r.User("org_1", "usr_1")
		_, keyErr := r.Key("org_1", "key_1")
		_, digestErr := r.KeyByDigest([32]byte{})
		_, resultErr := r.FirstResult("org_1", "k")
		for i, err := range []error{environmentErr, runErr, imageErr, userErr, keyErr, digestErr, resultErr} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("look-up %d: %v", i, err)
			}
		}
		environments, err := r.Environments("org_1", store.EnvironmentQuery{PageQuery: store.PageQuery{Limit: 10}})
		if err != nil || len(environments.Items) != 0 || environments.Next != "" {
			t.Errorf("environments: %+v, %v", environments, err)
		}
		all, err := r.Standings("env_1", "env_2")
		if err != nil || len(all) != 0 {
			t.Errorf("standings: %+v, %v", all, err)
		}
		if all, err = r.Standings(); err != nil || len(all) != 0 {
			t.Errorf("no standings: %+v, %v", all, err)
		}
		return nil
	})
	for name, f := range map[string]func(store.Writer) error{
		"environment": func(w store.Writer) error { return w.DeleteEnvironment("org_1", "env_1") },
		"image":       func(w store.Writer) error { return w.DeleteImage("img_1") },
	} {
		if err := s.Update(t.Context(), f); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("delete %s: %v", name, err)
		}
	}
}

// Ledger: EV-30
func organizationsAreApart(t *testing.T, s store.Store) {
	env := environmentOf("org_1", "mine")
	run := runOf(env, "queued")
	captured := image.Image{ID: ids.New(id.Image), OrganizationID: "org_1"}
	put(t, s, env, run, captured)
	view(t, s, func(r store.Reader) error {
		_, environmentErr := r.Environment("org_2", env.ID)
		_, runErr := r.Run("org_2", run.ID)
		if !errors.Is(environmentErr, store.ErrNotFound) || !errors.Is(runErr, store.ErrNotFound) {
			t.Errorf("another organisation finds %v, %v", environmentErr, runErr)
		}
		environments, err := r.Environments("org_2", store.EnvironmentQuery{PageQuery: store.PageQuery{Limit: 10}})
		images, imagesErr := r.Images("org_2", store.PageQuery{Limit: 10})
		n, countErr := r.CountUnfinishedRuns("org_2", run.Kind)
		if len(environments.Items)+len(images.Items)+n != 0 || errors.Join(err, imagesErr, countErr) != nil {
			t.Errorf("another organisation lists %+v, %+v, %d", environments, images, n)
		}
		return nil
	})
	stolenEnv, stolenRun, stolenImage := env, run, captured
	stolenEnv.OrganizationID, stolenRun.OrganizationID, stolenImage.OrganizationID = "org_2", "org_2", "org_2"
	for name, f := range map[string]func(store.Writer) error{
		"delete environment": func(w store.Writer) error { return w.DeleteEnvironment("org_2", env.ID) },
		"put environment":    func(w store.Writer) error { return w.PutEnvironment(stolenEnv) },
		"put run":            func(w store.Writer) error { return w.PutRun(stolenRun) },
		"put image":          func(w store.Writer) error { return w.PutImage(stolenImage) },
	} {
		if err := s.Update(t.Context(), f); err == nil {
			t.Errorf("%s of another organisation succeeds", name)
		}
	}
}

func failedUpdate(t *testing.T, s store.Store) {
	first, second := environmentOf("org_1", "first"), environmentOf("org_1", "second")
	failure := errors.New("enough")
	err := s.Update(t.Context(), func(w store.Writer) error {
		if err := errors.Join(w.PutEnvironment(first), w.Audit(entry("a"))); err != nil {
			return err
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("update: %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was lost")
			}
		}()
		_ = s.Update(t.Context(), func(w store.Writer) error {
			if err := errors.Join(w.PutEnvironment(second), w.Audit(entry("b"))); err != nil {
				return err
			}
			panic("enough")
		})
	}()
	ended, cancel := context.WithCancel(t.Context())
	if err := s.Update(ended, func(w store.Writer) error {
		err := w.PutEnvironment(second)
		cancel()
		return err
	}); err == nil {
		t.Error("an update whose context ended succeeds")
	}
	view(t, s, func(r store.Reader) error {
		for _, e := range []environment.Environment{first, second} {
			if _, err := r.Environment("org_1", e.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: %v", e.Definition.Name, err)
			}
		}
		if head, err := r.AuditHead(); err != nil || head.Sequence != 0 {
			t.Errorf("audit: %+v, %v", head, err)
		}
		return nil
	})
	put(t, s, first) // the store still works
}

// Ledger: NP-33
func updatesAreAlone(t *testing.T, s store.Store) {
	env := environmentOf("org_1", "0")
	put(t, s, env)
	const workers, each = 8, 25
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				err := s.Update(t.Context(), func(w store.Writer) error {
					e, err := w.Environment("org_1", env.ID)
					if err != nil {
						return err
					}
					e.Revision++
					return errors.Join(w.PutEnvironment(e), w.Audit(entry("count")))
				})
				if err != nil {
					t.Errorf("update: %v", err)
				}
			}
		})
	}
	wg.Wait()
	view(t, s, func(r store.Reader) error {
		e, err := r.Environment("org_1", env.ID)
		head, headErr := r.AuditHead()
		if e.Revision != 1+workers*each || head.Sequence != workers*each {
			t.Errorf("revision %d, audit %d: %v", e.Revision, head.Sequence, errors.Join(err, headErr))
		}
		return nil
	})
}

func viewIsOfOneMoment(t *testing.T, s store.Store) {
	env := environmentOf("org_1", "before")
	put(t, s, env)
	view(t, s, func(r store.Reader) error {
		if _, err := r.Environment("org_1", env.ID); err != nil {
			return err
		}
		after := env
		after.Definition.Name = "after"
		put(t, s, after)
		e, err := r.Environment("org_1", env.ID)
		if e.Definition.Name != "before" {
			t.Errorf("the view sees %q", e.Definition.Name)
		}
		return err
	})
}

func backups(t *testing.T, s store.Store) {
	put(t, s, environmentOf("org_1", "kept"))
	path := filepath.Join(t.TempDir(), "backup.db")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				put(t, s, environmentOf("org_1", fmt.Sprint("more ", i)))
			}
		}
	})
	err := s.Backup(t.Context(), path)
	close(stop)
	wg.Wait()
	if err != nil {
		t.Fatalf("backup: %v", err)
	}
	if err := s.Backup(t.Context(), path); err == nil {
		t.Error("a second backup replaces the first")
	}
}
