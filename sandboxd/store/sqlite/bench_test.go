package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/id"
	"github.com/sallyport/sallyport/sandboxd/setup"
	"github.com/sallyport/sallyport/sandboxd/store"
	"github.com/sallyport/sallyport/sandboxd/store/sqlite"
)

const (
	benchEnvironments = 10_000
	benchRuns         = 10 // of each environment
)

// fill stores 10,000 environments with 100,000 runs and returns their ids.
func fill(b *testing.B, s *sqlite.Store) (environments []string) {
	b.Helper()
	var ids id.Source
	code := 0
	err := s.Update(b.Context(), func(w store.Writer) error {
		for i := range benchEnvironments {
			e := environment.Environment{ID: ids.New(id.Environment), OrganizationID: "org_1", Definition: environment.Definition{
				Name: fmt.Sprint("environment ", i), Provider: "runs", EnvVars: map[string]string{"A": "1", "B": "2"},
				Setup: environment.Setup{Script: "set -x\napt-get install -y jq\n"},
			}}
			if err := w.PutEnvironment(e); err != nil {
				return err
			}
			for range benchRuns {
				r := setup.Run{
					ID: ids.New(id.SetupRun), OrganizationID: "org_1", EnvironmentID: e.ID, Kind: setup.Manual,
					Status: setup.Succeeded, ExitCode: &code, Message: "setup passed", FinishedAt: time.Now(),
				}
				if err := w.PutRun(r); err != nil {
					return err
				}
			}
			environments = append(environments, e.ID)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return environments
}

// BenchmarkLargeStore reports the 99th percentile of what the API's calls read,
// with 10,000 environments and 100,000 runs in the store.
func BenchmarkLargeStore(b *testing.B) {
	s := open(b, b.TempDir())
	all := fill(b, s)
	cases := []struct {
		name string
		read func(store.Reader, string) error
	}{
		{"get environment", func(r store.Reader, id string) error {
			if _, err := r.Environment("org_1", id); err != nil {
				return err
			}
			_, err := r.Standings(id)
			return err
		}},
		{"list 50 environments", func(r store.Reader, id string) error {
			page, err := r.Environments("org_1", store.EnvironmentQuery{PageQuery: store.PageQuery{After: id, Limit: 50}})
			if err != nil {
				return err
			}
			var listed []string
			for _, e := range page.Items {
				listed = append(listed, e.ID)
			}
			_, err = r.Standings(listed...)
			return err
		}},
		{"list 10 runs", func(r store.Reader, id string) error {
			_, err := r.Runs(id, store.PageQuery{Limit: 50})
			return err
		}},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				id := all[rand.IntN(len(all))]
				start := time.Now()
				if err := s.View(b.Context(), func(r store.Reader) error { return c.read(r, id) }); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99")
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	s := open(b, b.TempDir())
	var ids id.Source
	for b.Loop() {
		if _, err := writeOne(b.Context(), s, &ids); err != nil {
			b.Fatal(err)
		}
	}
}
