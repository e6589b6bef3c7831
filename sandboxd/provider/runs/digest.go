package runs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// digest names the content of a layer by all that a sandbox can tell of it:
// names, kinds, modes, owners, links, attributes, contents, and the times of
// all but directories, which say only when something was unpacked.
func digest(ctx context.Context, dir string) (string, error) {
	h := sha256.New()
	buffer := make([]byte, 256<<10)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return digestFile(h, path, strings.TrimPrefix(path, dir), info, buffer)
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func digestFile(h hash.Hash, path, name string, info fs.FileInfo, buffer []byte) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("no owner is known")
	}
	_, _ = fmt.Fprintf(h, "%q %o %d %d %d\n", name, st.Mode, st.Uid, st.Gid, st.Rdev)
	if !info.IsDir() {
		_, _ = fmt.Fprintf(h, "%d.%09d\n", st.Mtim.Sec, st.Mtim.Nsec)
	}
	if err := digestAttributes(h, path); err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(h, "-> %q\n", target)
	case info.Mode().IsRegular():
		_, _ = fmt.Fprintf(h, "%d\n", info.Size())
		f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NOATIME, 0)
		if err != nil {
			return err
		}
		_, err = io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, buffer)
		return errors.Join(err, f.Close())
	}
	return nil
}

// bookkeeping are attributes of the overlay that say where a file came from,
// not what it is.
var bookkeeping = []string{"overlay.origin", "overlay.impure", "overlay.uuid", "overlay.nlink"}

func digestAttributes(h hash.Hash, path string) error {
	list := make([]byte, 64<<10)
	n, err := unix.Llistxattr(path, list)
	if errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	if err != nil {
		return &fs.PathError{Op: "listxattr", Path: path, Err: err}
	}
	names := strings.FieldsFunc(string(list[:n]), func(r rune) bool { return r == 0 })
	slices.Sort(names)
	value := make([]byte, 64<<10)
	for _, name := range names {
		if slices.ContainsFunc(bookkeeping, func(s string) bool { return strings.HasSuffix(name, s) }) {
			continue
		}
		n, err := unix.Lgetxattr(path, name, value)
		if err != nil {
			return &fs.PathError{Op: "getxattr", Path: path, Err: err}
		}
		_, _ = fmt.Fprintf(h, "%q=%q\n", name, bytes.Clone(value[:n]))
	}
	return nil
}

// diskUse returns how many bytes a file, or a directory with all in it, takes
// on disk.
func diskUse(path string) (int64, error) {
	const blockSize = 512 // of stat(2), whatever the file system's is
	var total int64
	err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			total += st.Blocks * blockSize
		}
		return nil
	})
	return total, err
}
