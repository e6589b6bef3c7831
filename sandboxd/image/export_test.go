package image

import (
	"context"
	"io/fs"

	"github.com/sallyport/sallyport/sandboxd/redact"
)

// Inspect looks for credentials in files.
func Inspect(ctx context.Context, files fs.FS, secrets ...string) error {
	return inspect(ctx, files, redact.New(secrets...), len(secrets) > 0)
}
