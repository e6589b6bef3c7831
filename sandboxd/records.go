package sandboxd

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/setup"
	"github.com/sallyport/sallyport/sandboxd/store"
)

// Records lets what carries setup runs out and what keeps images use a store.
type Records struct{ Store store.Store }

var (
	_ setup.Records = Records{}
	_ image.Records = Records{}
)

// A companion is what is stored in the same transaction as a run's first
// record.
type companion struct {
	store func(store.Writer, setup.Run) error
	done  atomic.Bool
}

type companionKey struct{}

// together returns a context for the start of one run: what f stores is stored
// with the run or neither is.
func together(ctx context.Context, f func(store.Writer, setup.Run) error) context.Context {
	return context.WithValue(ctx, companionKey{}, &companion{store: f})
}

// SaveRun implements setup.Records.
func (r Records) SaveRun(ctx context.Context, run setup.Run) error {
	with, _ := ctx.Value(companionKey{}).(*companion)
	first := with != nil && !with.done.Load()
	err := r.Store.Update(ctx, func(w store.Writer) error {
		if err := w.PutRun(run); err != nil {
			return err
		}
		if first {
			return with.store(w, run)
		}
		return nil
	})
	if first && err == nil {
		with.done.Store(true)
	}
	return err
}

// Run implements setup.Records.
func (r Records) Run(ctx context.Context, id string) (run setup.Run, err error) {
	err = r.Store.View(ctx, func(r store.Reader) (err error) {
		run, err = r.AnyRun(id)
		return notFound(err, "setup run", id)
	})
	return run, err
}

// UnfinishedRuns implements setup.Records.
func (r Records) UnfinishedRuns(ctx context.Context) (runs []setup.Run, err error) {
	err = r.Store.View(ctx, func(r store.Reader) (err error) {
		runs, err = r.UnfinishedRuns()
		return err
	})
	return runs, err
}

// SaveImage implements image.Records.
func (r Records) SaveImage(ctx context.Context, i image.Image) error {
	return r.Store.Update(ctx, func(w store.Writer) error { return w.PutImage(i) })
}

// Image implements image.Records.
func (r Records) Image(ctx context.Context, id string) (i image.Image, err error) {
	err = r.Store.View(ctx, func(r store.Reader) (err error) {
		i, err = r.Image(id)
		return notFound(err, "image", id)
	})
	return i, err
}

// Images implements image.Records.
func (r Records) Images(ctx context.Context) (all []image.Image, err error) {
	err = r.Store.View(ctx, func(r store.Reader) (err error) {
		all, err = r.AllImages()
		return err
	})
	return all, err
}

// DeleteImage implements image.Records.
func (r Records) DeleteImage(ctx context.Context, id string) error {
	err := r.Store.Update(ctx, func(w store.Writer) error { return w.DeleteImage(id) })
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// ImagesInUse implements image.Records.
func (r Records) ImagesInUse(ctx context.Context) (ids []string, err error) {
	err = r.Store.View(ctx, func(r store.Reader) (err error) {
		ids, err = r.ImagesInUse()
		return err
	})
	return ids, err
}
