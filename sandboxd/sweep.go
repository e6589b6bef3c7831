package sandboxd

import (
	"context"
	"time"

	"github.com/sallyport/sallyport/sandboxd/store"
)

// runRetention is how long the runs of a deleted environment are kept.
const runRetention = 30 * 24 * time.Hour

// Sweep forgets what nobody can ask for any more, and returns the ids of the
// setup runs among it. It belongs to a daemon's idle hours.
func (s *Service) Sweep(ctx context.Context) (runs []string, err error) {
	now := s.now()
	err = s.o.Store.Update(ctx, func(w store.Writer) error {
		if err := w.ForgetFirstResults(now.Add(-retryWindow)); err != nil {
			return err
		}
		runs, err = w.ForgetRuns(now.Add(-runRetention))
		return err
	})
	return runs, err
}

// Empty reports whether the store has no organisation yet: nobody has a key.
func (s *Service) Empty(ctx context.Context) (empty bool, err error) {
	err = s.o.Store.View(ctx, func(r store.Reader) error {
		all, err := r.Organizations()
		empty = len(all) == 0
		return err
	})
	return empty, err
}
