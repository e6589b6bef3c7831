package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// imageDir returns the directory that a tar file was unpacked into, which is
// done the first time. A file that has changed is another image.
func (p *Provider) imageDir(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("open image: %w", err)
	}
	defer func() { _ = f.Close() }()
	name, err := identify(f)
	if err != nil {
		return "", fmt.Errorf("open image: %w", err)
	}
	images := filepath.Join(p.config.StateDir, imagesDir)
	if err := os.MkdirAll(images, 0o700); err != nil {
		return "", err
	}
	dir := filepath.Join(images, name)
	release, err := lockWhole(filepath.Join(images, lockFile))
	if err != nil {
		return "", err
	}
	defer release()
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	// Under another name until it is whole; what a crash left is begun anew.
	partial := filepath.Join(images, "partial")
	if err := os.RemoveAll(partial); err != nil {
		return "", err
	}
	if err := os.Mkdir(partial, 0o755); err != nil {
		return "", err
	}
	if err := unpack(f, partial); err != nil {
		return "", errors.Join(fmt.Errorf("unpack image %s: %w", file, err), os.RemoveAll(partial))
	}
	return dir, os.Rename(partial, dir)
}

// identify names a version of a file without reading it.
func identify(f *os.File) (string, error) {
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() {
		return "", fmt.Errorf("%s is neither a directory nor a file", f.Name())
	}
	sys := st.Sys().(*syscall.Stat_t)
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %d", sys.Dev, sys.Ino, st.Size(), st.ModTime().UnixNano()))
	return hex.EncodeToString(sum[:16]), nil
}
