package provider

import (
	"context"
	"io"
	"io/fs"
)

// Layer is a part of an image: what one sandbox wrote, or an archive.
type Layer struct {
	Key       string // names the content: equal content has an equal key
	SizeBytes int64  // on disk
}

// Written is what a sandbox wrote, between its end and its Stop. No sandbox can
// start from it until it was kept. Of what the caller placed (Spec.Files)
// nothing is in it.
type Written interface {
	// FS reads it: files, directories and links as they lie, and a deletion as
	// a character device 0/0. Links aren't followed out of it.
	FS() fs.FS
	// Keep makes it a layer, without copying, and returns its key. If there is
	// a layer of that content already, that one stays.
	Keep(ctx context.Context) (Layer, error)
}

// Layers keeps the layers of a provider that has the capability Capture.
type Layers interface {
	// ImportLayer makes a layer of a tar archive, plain or gzipped.
	ImportLayer(ctx context.Context, archive io.Reader) (Layer, error)
	// Layers lists the keys of the layers that are there, sorted.
	Layers(ctx context.Context) ([]string, error)
	// RemoveLayer removes a layer; one that isn't there is no error.
	// Error: ErrLayerInUse.
	RemoveLayer(ctx context.Context, key string) error
}
