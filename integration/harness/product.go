package harness

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Product is the built binaries, in a folder that every user can execute from.
type Product struct{ Dir string }

// Build builds the product in the repository at root, as its Makefile does.
func Build(root string) (*Product, error) {
	build := exec.Command("make", "-s", "build")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w: %s", err, out)
	}
	return Install(filepath.Join(root, "bin"))
}

// Install copies the binaries in bin to a new folder of the product's own.
func Install(bin string) (*Product, error) {
	entries, err := os.ReadDir(bin)
	if err != nil {
		return nil, fmt.Errorf("list binaries: %w", err)
	}
	dir, err := os.MkdirTemp("", "sallyport-bin-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || !info.Mode().IsRegular() || info.Mode()&0o100 == 0 {
			continue
		}
		if err := copyFile(filepath.Join(dir, e.Name()), filepath.Join(bin, e.Name())); err != nil {
			return nil, fmt.Errorf("install %s: %w", e.Name(), err)
		}
	}
	return &Product{Dir: dir}, nil
}

// Path returns the path of the binary called name.
func (p *Product) Path(name string) string { return filepath.Join(p.Dir, name) }

// Remove removes the copies.
func (p *Product) Remove() error { return os.RemoveAll(p.Dir) }

func copyFile(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		dst.Close()
		return err
	}
	return dst.Close()
}
