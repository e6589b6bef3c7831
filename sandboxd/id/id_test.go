package id_test

import (
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/id"
)

// Ledger: AP-7, EV-11
func TestIdsHaveTheirForm(t *testing.T) {
	t.Parallel()
	var source id.Source
	form := regexp.MustCompile(`^(env|img|key|org|req|sbx|ses|srun|usr)_[0-9A-HJKMNP-TV-Z]{26}$`)
	for _, prefix := range []string{id.Environment, id.Image, id.Key, id.Organization, id.Request, id.Sandbox, id.Session, id.SetupRun, id.User} {
		made := source.New(prefix)
		if !form.MatchString(made) || !id.Valid(prefix, made) {
			t.Errorf("New(%q) = %q", prefix, made)
		}
	}
	for _, s := range []string{"", "env_", "env", "srun_01ARZ3NDEKTSV4RRFFQ69G5FAV", "env_01ARZ3NDEKTSV4RRFFQ69G5FA!", "env-01ARZ3NDEKTSV4RRFFQ69G5FAV"} {
		if id.Valid(id.Environment, s) {
			t.Errorf("Valid(%q)", s)
		}
	}
}

func TestIdsSortAsMade(t *testing.T) {
	t.Parallel()
	var source id.Source
	var mu sync.Mutex
	var all []string
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5000 {
				mu.Lock()
				all = append(all, source.New(id.Environment))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if !slices.IsSorted(all) || len(slices.Compact(all)) != 20000 {
		t.Error("ids don't sort in the order in which they were made")
	}
}
