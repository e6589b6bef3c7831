package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider"
)

// ImportLayer makes a layer of a tar archive, plain or gzipped.
func (p *Provider) ImportLayer(ctx context.Context, archive io.Reader) (provider.Layer, error) {
	l, err := p.importLayer(ctx, archive)
	if err != nil {
		return provider.Layer{}, fmt.Errorf("import layer: %w", err)
	}
	return l, nil
}

func (p *Provider) importLayer(ctx context.Context, archive io.Reader) (_ provider.Layer, err error) {
	owner, err := layerOwner()
	if err != nil {
		return provider.Layer{}, err
	}
	if owner != rootID {
		return provider.Layer{}, errors.New("an ordinary user's layers hold other ids than an archive does")
	}
	partial, err := p.newPartial()
	if err != nil {
		return provider.Layer{}, err
	}
	defer func() { err = errors.Join(err, partial.remove()) }()
	root := filepath.Join(partial.path, layerRoot)
	if err := os.Mkdir(root, 0o755); err != nil {
		return provider.Layer{}, err
	}
	if err := unpack(contextReader{ctx, archive}, root); err != nil {
		return provider.Layer{}, err
	}
	return p.addLayer(ctx, root, root, layerRoot)
}

// contextReader ends reading with ctx.
type contextReader struct {
	ctx context.Context //nolint:containedctx // lives as long as the call that made it
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// addLayer makes a layer of what is at path, a directory or a disk, whose files
// can be read below root.
func (p *Provider) addLayer(ctx context.Context, root, path, kind string) (_ provider.Layer, err error) {
	key, err := digest(ctx, root)
	if err != nil {
		return provider.Layer{}, err
	}
	size, err := diskUse(path)
	if err != nil {
		return provider.Layer{}, err
	}
	partial, err := p.newPartial()
	if err != nil {
		return provider.Layer{}, err
	}
	defer func() { err = errors.Join(err, partial.remove()) }()
	if err := os.Rename(path, filepath.Join(partial.path, kind)); err != nil {
		return provider.Layer{}, err
	}
	if err := partial.become(key); err != nil {
		return provider.Layer{}, err
	}
	return provider.Layer{Key: key, SizeBytes: size}, nil
}

// partialPrefix begins the names of what isn't a whole layer.
const partialPrefix = "partial-"

// partialLayer is a layer that is being made. As with a sandbox, what isn't
// locked is left over.
type partialLayer struct {
	path string
	lock *os.File
}

func (p *Provider) layersDir() string { return filepath.Join(p.config.StateDir, capturedDir) }

func (p *Provider) newPartial() (*partialLayer, error) {
	base := p.layersDir()
	if err := os.MkdirAll(base, 0o700); err != nil {
		return nil, err
	}
	release, err := lockWhole(filepath.Join(base, lockFile))
	if err != nil {
		return nil, err
	}
	defer release()
	path, err := os.MkdirTemp(base, partialPrefix)
	if err != nil {
		return nil, err
	}
	held, err := tryLock(filepath.Join(path, lockFile))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &partialLayer{path: path, lock: held}, nil
}

// become makes it the layer of a key, unless there is one.
func (l *partialLayer) become(key string) error {
	base := filepath.Dir(l.path)
	release, err := lockWhole(filepath.Join(base, lockFile))
	if err != nil {
		return err
	}
	defer release()
	if _, err := os.Stat(filepath.Join(base, key)); err == nil {
		return nil
	}
	if err := os.Remove(filepath.Join(l.path, lockFile)); err != nil {
		return err
	}
	return os.Rename(l.path, filepath.Join(base, key))
}

// remove removes what is left of it.
func (l *partialLayer) remove() error {
	return errors.Join(os.RemoveAll(l.path), l.lock.Close())
}

// reapPartial removes what a crash left of layers that were being made.
func (p *Provider) reapPartial() error {
	base := p.layersDir()
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	release, err := lockWhole(filepath.Join(base, lockFile))
	if err != nil {
		return err
	}
	defer release()
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), partialPrefix) {
			continue
		}
		l := &partialLayer{path: filepath.Join(base, e.Name())}
		l.lock, err = tryLock(filepath.Join(l.path, lockFile))
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) {
			continue // its maker lives, or it is gone
		}
		if err != nil {
			return err
		}
		if err := l.remove(); err != nil {
			return fmt.Errorf("reap layer: %w", err)
		}
	}
	return nil
}
