package image

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/provider"
	"github.com/sallyport/sallyport/sandboxd/redact"
)

// Records keeps images. It is safe for concurrent use.
type Records interface {
	// SaveImage adds the image or replaces the one of its id.
	SaveImage(ctx context.Context, i Image) error
	// Image returns the image of an id; a fault with code not_found if there is
	// none.
	Image(ctx context.Context, id string) (Image, error)
	// Images returns all images.
	Images(ctx context.Context) ([]Image, error)
	// DeleteImage removes a record; one that isn't there is no error.
	DeleteImage(ctx context.Context, id string) error
	// ImagesInUse returns the ids of the images that an environment's verdict or
	// a session refers to.
	ImagesInUse(ctx context.Context) ([]string, error)
}

// Options of a Keeper. Records, Provider and Layers are required.
type Options struct {
	Records  Records
	Provider string          // the name of the provider whose layers they are
	Layers   provider.Layers // of that provider
	// Fresh is how long an image that nothing refers to yet is kept: whoever
	// captured it is about to say what it is for. Zero means an hour.
	Fresh time.Duration
	NewID func() string    // nil means img_ and random letters
	Log   *slog.Logger     // nil means none
	Clock func() time.Time // nil means time.Now
}

// Names that an environment's image field can hold, besides the empty one.
const (
	RunnerName = "runner" // the service's runner image
	HostName   = "host"   // the machine's own programs
)

// HostID is the id of the image that is always there.
const HostID = HostName

// Keeper keeps the images of one provider. It is safe for concurrent use.
type Keeper struct {
	o Options
	// making is held for reading while a layer is about to get its record, and
	// for writing while layers without one are removed.
	making sync.RWMutex
}

// NewKeeper returns a Keeper.
func NewKeeper(o Options) (*Keeper, error) {
	if o.Records == nil || o.Provider == "" || o.Layers == nil {
		return nil, errors.New("image: Records, Provider and Layers are required")
	}
	if o.Fresh == 0 {
		o.Fresh = time.Hour
	}
	if o.NewID == nil {
		o.NewID = func() string { return "img_" + rand.Text() }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Keeper{o: o}, nil
}

func (k *Keeper) now() time.Time { return k.o.Clock().UTC().Truncate(time.Millisecond) }

// Host is the image of the machine's own programs.
func (k *Keeper) Host() Image {
	return Image{ID: HostID, Provider: k.o.Provider, State: Usable, Host: true}
}

// Resolve returns the image of an environment's image field and its stack.
// Empty and RunnerName are the service's runner image: the newest that was
// built, else the host's own programs. Fault: invalid_request for a name that
// isn't known; error: provider.ErrLayerMissing.
func (k *Keeper) Resolve(ctx context.Context, name string) (Image, provider.Image, error) {
	i := k.Host()
	switch name {
	case HostName:
	case "", RunnerName:
		runner, found, err := k.Runner(ctx)
		if err != nil {
			return Image{}, provider.Image{}, err
		}
		if found {
			i = runner
		}
	default:
		return Image{}, provider.Image{}, fault.Invalid("image", "is %q; it must be left out, or be %q or %q", name, RunnerName, HostName)
	}
	stack, err := k.Stack(ctx, i)
	return i, stack, err
}

// Runner returns the newest runner image that was built, if there is one.
func (k *Keeper) Runner(ctx context.Context) (newest Image, found bool, err error) {
	all, err := k.o.Records.Images(ctx)
	if err != nil {
		return Image{}, false, fmt.Errorf("find runner image: %w", err)
	}
	for _, i := range all {
		if i.runner() && i.State == Usable && i.Provider == k.o.Provider && (!found || i.CreatedAt.After(newest.CreatedAt)) {
			newest, found = i, true
		}
	}
	return newest, found, nil
}

// runner says whether an image is one that the service built for all.
func (i Image) runner() bool { return i.OrganizationID == "" && i.Recipe != "" }

// Stack returns what a sandbox of image i starts on. Error:
// provider.ErrLayerMissing.
func (k *Keeper) Stack(ctx context.Context, i Image) (provider.Image, error) {
	if i.Provider != k.o.Provider || i.State != Usable {
		return provider.Image{}, fmt.Errorf("image %s is %s, of provider %q: %w", i.ID, i.State, i.Provider, provider.ErrLayerMissing)
	}
	if len(i.Layers) > 0 {
		keys, err := k.o.Layers.Layers(ctx)
		if err != nil {
			return provider.Image{}, err
		}
		for _, key := range i.Layers {
			if _, found := slices.BinarySearch(keys, key); !found {
				return provider.Image{}, fmt.Errorf("image %s: layer %s: %w", i.ID, key, provider.ErrLayerMissing)
			}
		}
	}
	return provider.Image{Host: i.Host, Layers: slices.Clone(i.Layers)}, nil
}

// StateOf returns the state of a recorded image as a session's start sees it:
// a usable one whose layers are gone is missing.
func (k *Keeper) StateOf(ctx context.Context, i Image) (State, error) {
	if i.State != Usable {
		return i.State, nil
	}
	_, err := k.Stack(ctx, i)
	switch {
	case err == nil:
		return Usable, nil
	case errors.Is(err, provider.ErrLayerMissing):
		return Missing, nil
	default:
		return Unknown, err
	}
}

// Capture ends the sandbox's processes, looks through what it wrote for
// credentials, and keeps it as an image. The error is a *RefusedError when it
// holds one; then nothing is kept.
func (k *Keeper) Capture(ctx context.Context, sb provider.Sandbox, c Capture) (Image, error) {
	w, err := sb.Capture(ctx)
	if err != nil {
		return Image{}, fmt.Errorf("capture image: %w", err)
	}
	if err := inspect(ctx, w.FS(), redact.New(c.Secrets...), len(c.Secrets) > 0); err != nil {
		return Image{}, fmt.Errorf("capture image: %w", err)
	}
	i := Image{
		ID: k.o.NewID(), OrganizationID: c.OrganizationID, EnvironmentID: c.EnvironmentID, Fingerprint: c.Fingerprint,
		RunnerID: c.On.ID, Host: c.On.Host,
	}
	return k.keep(ctx, w, c.On.Layers, i)
}

// keep makes a layer of what was written, on top of others, and records the
// image that they make.
func (k *Keeper) keep(ctx context.Context, w provider.Written, below []string, i Image) (Image, error) {
	k.making.RLock()
	defer k.making.RUnlock()
	l, err := w.Keep(ctx)
	if err != nil {
		return Image{}, fmt.Errorf("capture image: %w", err)
	}
	i.Layers = append(slices.Clone(below), l.Key)
	i.SizeBytes, i.Provider, i.State, i.CreatedAt = l.SizeBytes, k.o.Provider, Usable, k.now()
	if err := k.o.Records.SaveImage(ctx, i); err != nil {
		return Image{}, fmt.Errorf("record image: %w", err)
	}
	return i, nil
}
