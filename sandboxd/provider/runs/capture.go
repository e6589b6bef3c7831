package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport/sandboxd/provider"
)

// Written is what a sandbox wrote, between its end and its Stop.
type Written struct {
	sandbox *Sandbox
	root    *os.Root
	path    string // where this process finds the files
}

// Capture ends every process of the sandbox and offers what was written as a
// layer: the very files, not a copy. Stop is still needed, and gives up what
// wasn't kept by then. What Start placed (Spec.Files, /etc/hosts and the like)
// is taken out.
func (sb *Sandbox) Capture(ctx context.Context) (*Written, error) {
	sb.stopMu.Lock()
	defer sb.stopMu.Unlock()
	if sb.stopped {
		return nil, fmt.Errorf("capture sandbox: %w", ErrStopped)
	}
	if err := sb.kill(ctx); err != nil {
		return nil, fmt.Errorf("capture sandbox: %w", err)
	}
	w := &Written{sandbox: sb, path: filepath.Join(sb.dir.path, upperDir)}
	if sb.dir.disk != nil {
		w.path = sb.dir.disk.path() + "/" + upperDir
	}
	var err error
	if w.root, err = os.OpenRoot(w.path); err != nil {
		return nil, fmt.Errorf("capture sandbox: %w", err)
	}
	if err := w.takeOut(sb.placed); err != nil {
		return nil, errors.Join(fmt.Errorf("capture sandbox: %w", err), w.root.Close())
	}
	if sb.dir.disk != nil {
		if err := sb.dir.disk.finish(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("capture sandbox: %w", err), w.root.Close())
		}
	}
	if sb.written != nil {
		_ = sb.written.root.Close()
	}
	sb.written = w
	return w, nil
}

// takeOut removes what isn't the sandbox's own. What a lower layer has at such
// a path shows again.
func (w *Written) takeOut(paths []string) error {
	for _, path := range paths {
		name := strings.TrimPrefix(path, "/")
		if err := w.root.RemoveAll(name); err != nil && !outside(err) {
			return err
		}
		// Nor are directories that were made for it and hold nothing else.
		for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
			if w.root.Remove(dir) != nil {
				break
			}
		}
	}
	return nil
}

// outside says that a path leads, by a link that the sandbox made, out of what
// it wrote: then nothing that was placed is there.
func outside(err error) bool {
	var e *fs.PathError
	return errors.As(err, &e)
}

// FS reads what was written.
func (w *Written) FS() fs.FS { return w.root.FS() }

// Keep makes it a layer.
func (w *Written) Keep(ctx context.Context) (provider.Layer, error) {
	sb := w.sandbox
	sb.stopMu.Lock()
	defer sb.stopMu.Unlock()
	if sb.stopped {
		return provider.Layer{}, fmt.Errorf("keep layer: %w", ErrStopped)
	}
	path, kind := filepath.Join(sb.dir.path, upperDir), layerRoot
	if sb.dir.disk != nil {
		path, kind = filepath.Join(sb.dir.path, diskFile), layerDisk
		if err := syncFile(path); err != nil {
			return provider.Layer{}, fmt.Errorf("keep layer: %w", err)
		}
	}
	l, err := sb.provider.addLayer(ctx, w.path, path, kind)
	if err != nil {
		return provider.Layer{}, fmt.Errorf("keep layer: %w", err)
	}
	return l, nil
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
