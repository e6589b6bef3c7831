package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

// layersDir is where in the state directory the layers of the host image are.
const layersDir = "layers"

// openHostLayer returns the directory that is the bottom of the host image. It
// is made when the host's files are others than the last time, and kept as
// long as any provider that uses it lives; its owner is the sandbox's root.
func openHostLayer(stateDir string, owner int) (string, error) {
	files, err := hostFiles()
	if err != nil {
		return "", fmt.Errorf("look at the host: %w", err)
	}
	layers := filepath.Join(stateDir, layersDir)
	if err := os.MkdirAll(layers, 0o700); err != nil {
		return "", err
	}
	release, err := lockWhole(filepath.Join(layers, lockFile))
	if err != nil {
		return "", err
	}
	defer release()
	name := nameLayer(files, owner)
	if err := removeUnused(layers, name); err != nil {
		return "", err
	}
	// Held until this process ends.
	if _, err := lock(filepath.Join(layers, name+"."+lockFile), unix.LOCK_SH); err != nil {
		return "", err
	}
	dir := filepath.Join(layers, name)
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	partial := filepath.Join(layers, "partial")
	if err := os.RemoveAll(partial); err != nil {
		return "", err
	}
	if err := makeHostLayer(partial, files, owner); err != nil {
		return "", errors.Join(fmt.Errorf("make host layer: %w", err), os.RemoveAll(partial))
	}
	return dir, os.Rename(partial, dir)
}

// nameLayer names what a layer is made of.
func nameLayer(files []hostFile, owner int) string {
	h := sha256.New()
	_, _ = fmt.Fprintln(h, owner, hostDirs, hostLinks)
	for _, f := range files {
		_, _ = fmt.Fprintln(h, f.path, f.info.Mode(), f.info.Size(), f.info.ModTime().UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// removeUnused removes the layers but one that no provider holds.
func removeUnused(layers, but string) error {
	entries, err := os.ReadDir(layers)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, isLock := strings.CutSuffix(e.Name(), "."+lockFile)
		if !isLock || name == but {
			continue
		}
		path := filepath.Join(layers, e.Name())
		f, err := tryLock(path)
		if errors.Is(err, unix.EWOULDBLOCK) {
			continue
		}
		if err != nil {
			return err
		}
		if err := errors.Join(os.RemoveAll(filepath.Join(layers, name)), os.Remove(path), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

func makeHostLayer(dir string, files []hostFile, owner int) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	l := layerWriter{root: root, owner: owner}
	entries := slices.Clone(hostDirs)
	for _, path := range hostLinks {
		if target, err := os.Readlink(path); err == nil {
			entries = append(entries, wire.Entry{Kind: wire.Link, Path: path, Data: []byte(target)})
		}
	}
	for _, path := range hostMounts {
		if st, err := os.Lstat(path); err == nil && st.IsDir() {
			entries = append(entries, wire.Entry{Kind: wire.Dir, Path: path, Mode: 0o755})
		}
	}
	for _, f := range files {
		e, err := f.entry()
		if err != nil {
			return err
		}
		if e != nil {
			entries = append(entries, *e)
		}
	}
	for i := range entries {
		if err := l.write(&entries[i]); err != nil {
			return fmt.Errorf("%s: %w", entries[i].Path, err)
		}
	}
	return root.Lchown(".", owner, owner)
}

// layerWriter writes entries, all of one owner, below a directory.
type layerWriter struct {
	root  *os.Root
	owner int
}

func (l layerWriter) write(e *wire.Entry) error {
	name := strings.TrimPrefix(e.Path, "/")
	if err := l.makeDirs(filepath.Dir(name)); err != nil {
		return err
	}
	var err error
	switch e.Kind {
	case wire.Dir:
		if err := l.makeDirs(name); err != nil {
			return err
		}
		mode := os.FileMode(e.Mode).Perm()
		if e.Mode&fsSticky != 0 {
			mode |= os.ModeSticky
		}
		return l.root.Chmod(name, mode)
	case wire.Link:
		err = l.root.Symlink(string(e.Data), name)
	default:
		if err = l.root.WriteFile(name, e.Data, 0o600); err == nil {
			err = l.root.Chmod(name, os.FileMode(e.Mode).Perm())
		}
	}
	if err != nil {
		return err
	}
	return l.root.Lchown(name, l.owner, l.owner)
}

func (l layerWriter) makeDirs(name string) error {
	if name == "." {
		return nil
	}
	err := l.root.Mkdir(name, 0o755)
	if errors.Is(err, fs.ErrNotExist) {
		if err := l.makeDirs(filepath.Dir(name)); err != nil {
			return err
		}
		err = l.root.Mkdir(name, 0o755)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := l.root.Chmod(name, 0o755); err != nil { // whatever the umask is
		return err
	}
	return l.root.Lchown(name, l.owner, l.owner)
}
