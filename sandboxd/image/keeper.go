package image

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sallyport/sallyport/sandboxd/provider"
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

// Options of a Keeper. Records and Provider are required.
type Options struct {
	Records  Records
	Provider provider.Provider // whose layers the images consist of, if it keeps any
	Log      *slog.Logger      // nil means none
	Clock    func() time.Time
}

// HostID is the image that is always there: the machine's own programs.
const HostID = "host"

// Keeper keeps the images of one provider. It is safe for concurrent use.
type Keeper struct{ o Options }

// NewKeeper returns a Keeper.
func NewKeeper(o Options) (*Keeper, error) { return &Keeper{o: o}, nil }

// Resolve returns the image of an environment's image field and its stack.
// Empty is the service's runner image: the newest that was built, else the
// host's own programs.
func (k *Keeper) Resolve(ctx context.Context, name string) (Image, provider.Image, error) {
	return Image{}, provider.Image{}, errors.ErrUnsupported
}

// Stack returns what a sandbox of image i starts on. Error:
// provider.ErrLayerMissing.
func (k *Keeper) Stack(ctx context.Context, i Image) (provider.Image, error) {
	return provider.Image{}, errors.ErrUnsupported
}

// Capture ends the sandbox's processes, looks through what it wrote for
// credentials, and keeps it as an image.
func (k *Keeper) Capture(ctx context.Context, sb provider.Sandbox, c Capture) (Image, error) {
	return Image{}, errors.ErrUnsupported
}

// Collect removes the images that nothing refers to and the layers that no
// image needs, and returns how many layers went.
func (k *Keeper) Collect(ctx context.Context) (int, error) { return 0, errors.ErrUnsupported }
