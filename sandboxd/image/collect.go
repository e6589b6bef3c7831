package image

import (
	"context"
	"errors"
	"fmt"

	"github.com/sallyport/sallyport/sandboxd/provider"
)

// Collect removes the images that nothing refers to and the layers that no
// image needs, and returns how many layers went (ledger IM-13). A layer that a
// sandbox uses stays until the next time.
func (k *Keeper) Collect(ctx context.Context) (int, error) {
	k.making.Lock()
	defer k.making.Unlock()
	kept, err := k.forget(ctx)
	if err != nil {
		return 0, fmt.Errorf("collect images: %w", err)
	}
	needed := make(map[string]bool)
	for _, i := range kept {
		for _, key := range i.Layers {
			needed[key] = true
		}
	}
	keys, err := k.o.Layers.Layers(ctx)
	if err != nil {
		return 0, fmt.Errorf("collect layers: %w", err)
	}
	removed := 0
	var errs []error
	for _, key := range keys {
		if needed[key] {
			continue
		}
		switch err := k.o.Layers.RemoveLayer(ctx, key); {
		case err == nil:
			removed++
		case !errors.Is(err, provider.ErrLayerInUse):
			errs = append(errs, err)
		}
	}
	return removed, errors.Join(errs...)
}

// forget deletes the records of images that nothing refers to, and returns the
// images that stay.
func (k *Keeper) forget(ctx context.Context) ([]Image, error) {
	all, err := k.o.Records.Images(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := k.o.Records.ImagesInUse(ctx)
	if err != nil {
		return nil, err
	}
	inUse := make(map[string]bool)
	for _, id := range ids {
		inUse[id] = true
	}
	runner, _, err := k.Runner(ctx)
	if err != nil {
		return nil, err
	}
	var kept []Image
	for _, i := range all {
		fresh := k.now().Sub(i.CreatedAt) < k.o.Fresh
		if i.Provider != k.o.Provider || inUse[i.ID] || fresh || i.ID == runner.ID {
			kept = append(kept, i)
			continue
		}
		if err := k.o.Records.DeleteImage(ctx, i.ID); err != nil {
			return nil, err
		}
	}
	return kept, nil
}
