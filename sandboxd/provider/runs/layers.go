package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider"
)

// Layout of a layer's directory, which is named by the layer's key: one of the
// two, and beside the directory a lock that every process that uses it shares.
const (
	capturedDir = "captured"
	layerRoot   = "root" // the files themselves
	layerDisk   = "disk" // a disk that has them in upper
)

// maxIdleLayers is how many layers stay mounted after their last sandbox.
const maxIdleLayers = 8

var validKey = regexp.MustCompile(`^[0-9a-f]{64}$`)

// layers are those that this process has open.
type layers struct {
	mu   sync.Mutex
	open map[string]*openLayer
	idle []string // those of open that nobody uses, the longest first
}

// openLayer is a layer in use. A disk is mounted once for all its sandboxes, so
// that they share what of it is in memory.
type openLayer struct {
	lock *os.File
	root string // of a directory; else empty
	disk *disk
	uses int
}

func (l *openLayer) close() error {
	return errors.Join(l.disk.close(), l.lock.Close())
}

// mount returns a mount, and where below it the layer's files are.
func (l *openLayer) mount(o mountOptions) (f *os.File, below string, err error) {
	o.readOnly = true
	if l.disk != nil {
		f, err = l.disk.mount(o)
		return f, "/" + upperDir, err
	}
	f, err = cloneMount(l.root, o)
	return f, "", err
}

// useLayer opens a layer until it is let go of.
func (p *Provider) useLayer(key string) (*openLayer, error) {
	p.layers.mu.Lock()
	defer p.layers.mu.Unlock()
	l := p.layers.open[key]
	if l == nil {
		var err error
		if l, err = p.openLayer(key); err != nil {
			return nil, err
		}
		if p.layers.open == nil {
			p.layers.open = make(map[string]*openLayer)
		}
		p.layers.open[key] = l
	}
	p.layers.idle = slices.DeleteFunc(p.layers.idle, func(k string) bool { return k == key })
	l.uses++
	return l, nil
}

func (p *Provider) openLayer(key string) (*openLayer, error) {
	if !validKey.MatchString(key) {
		return nil, fmt.Errorf("open layer %.80q: %w", key, provider.ErrLayerMissing)
	}
	base := p.layersDir()
	lockPath := filepath.Join(base, key+"."+lockFile)
	if _, err := os.Stat(filepath.Join(base, key)); err != nil {
		return nil, fmt.Errorf("open layer %s: %w", key, provider.ErrLayerMissing)
	}
	held, err := lock(lockPath, unix.LOCK_SH)
	if err != nil {
		return nil, fmt.Errorf("open layer %s: %w", key, err)
	}
	l := &openLayer{lock: held}
	dir := filepath.Join(base, key)
	if _, err = os.Stat(filepath.Join(dir, layerDisk)); err == nil {
		l.disk, err = openDisk(filepath.Join(dir, layerDisk), true)
	} else {
		l.root = filepath.Join(dir, layerRoot)
		_, err = os.Stat(l.root)
	}
	if errors.Is(err, fs.ErrNotExist) { // it was removed just now
		err = provider.ErrLayerMissing
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open layer %s: %w", key, err), l.close())
	}
	return l, nil
}

// releaseLayer lets go of a layer, which stays mounted for a while.
func (p *Provider) releaseLayer(key string) error {
	p.layers.mu.Lock()
	defer p.layers.mu.Unlock()
	l := p.layers.open[key]
	if l.uses--; l.uses > 0 {
		return nil
	}
	p.layers.idle = append(p.layers.idle, key)
	if len(p.layers.idle) <= maxIdleLayers {
		return nil
	}
	return p.layers.closeIdle(p.layers.idle[0])
}

// closeIdle closes a layer that nobody uses, for a caller that holds mu.
func (l *layers) closeIdle(key string) error {
	l.idle = slices.DeleteFunc(l.idle, func(k string) bool { return k == key })
	open := l.open[key]
	delete(l.open, key)
	return open.close()
}

// Close lets go of the layers that no sandbox uses.
func (p *Provider) Close() error {
	p.layers.mu.Lock()
	defer p.layers.mu.Unlock()
	var errs []error
	for len(p.layers.idle) > 0 {
		errs = append(errs, p.layers.closeIdle(p.layers.idle[0]))
	}
	return errors.Join(errs...)
}

// Layers lists the keys of the layers that are there, sorted.
func (p *Provider) Layers(context.Context) ([]string, error) {
	entries, err := os.ReadDir(p.layersDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list layers: %w", err)
	}
	var keys []string
	for _, e := range entries {
		if validKey.MatchString(e.Name()) {
			keys = append(keys, e.Name())
		}
	}
	return keys, nil
}

// RemoveLayer removes a layer. Error: provider.ErrLayerInUse.
func (p *Provider) RemoveLayer(_ context.Context, key string) error {
	if !validKey.MatchString(key) {
		return nil
	}
	base := p.layersDir()
	p.layers.mu.Lock()
	defer p.layers.mu.Unlock()
	if slices.Contains(p.layers.idle, key) {
		if err := p.layers.closeIdle(key); err != nil {
			return fmt.Errorf("remove layer: %w", err)
		}
	}
	dir := filepath.Join(base, key)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	release, err := lockWhole(filepath.Join(base, lockFile))
	if err != nil {
		return fmt.Errorf("remove layer: %w", err)
	}
	defer release()
	path := filepath.Join(base, key+"."+lockFile)
	f, err := tryLock(path)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("remove layer %s: %w", key, provider.ErrLayerInUse)
	}
	if err != nil {
		return fmt.Errorf("remove layer: %w", err)
	}
	// Under another name first: half a layer must not be taken for a whole one.
	gone := filepath.Join(base, partialPrefix+key)
	err = errors.Join(os.Rename(dir, gone), os.RemoveAll(gone), os.Remove(path), f.Close())
	if err != nil {
		return fmt.Errorf("remove layer: %w", err)
	}
	return nil
}
