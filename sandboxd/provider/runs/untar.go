package runs

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// xattrPrefix marks extended attributes in a tar header.
const xattrPrefix = "SCHILY.xattr."

// unpack extracts a root file system, plain or gzipped, into dir. Everything
// goes through an os.Root, so neither a name nor a link leads out of dir.
//
// Left out are devices, which a sandbox has of its own or not at all, and the
// set-user-ID bits, which do nothing in a sandbox and too much outside of one.
func unpack(r io.Reader, dir string) error {
	buffered := bufio.NewReaderSize(r, 1<<20)
	r = buffered
	if magic, err := buffered.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return err
		}
		r = z
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	u := unpacker{root: root, archive: tar.NewReader(r)}
	for {
		h, err := u.archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := u.extract(h); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
	return u.finish()
}

type unpacker struct {
	root    *os.Root
	archive *tar.Reader
	dirs    []*tar.Header // to be given their mode last
}

func (u *unpacker) extract(h *tar.Header) error {
	name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
	switch {
	case name == "":
		name = "."
	case name == "manifest.json" || name == "oci-layout":
		return errors.New("this is an image with its layers, not a root file system: export a container of it instead (docker export)")
	}
	h.Name = name
	if h.Typeflag != tar.TypeDir {
		if err := u.clear(name); err != nil {
			return err
		}
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if err := u.root.MkdirAll(name, 0o755); err != nil {
			return err
		}
		u.dirs = append(u.dirs, h)
		return u.own(h)
	case tar.TypeReg:
		return u.file(h)
	case tar.TypeSymlink:
		if err := u.root.Symlink(h.Linkname, name); err != nil {
			return err
		}
		return u.own(h)
	case tar.TypeLink:
		return u.root.Link(strings.TrimPrefix(path.Clean("/"+h.Linkname), "/"), name)
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return nil
	default:
		return fmt.Errorf("unknown type %q", h.Typeflag)
	}
}

// clear makes room for an entry: its parent exists and nothing is in the way.
func (u *unpacker) clear(name string) error {
	if err := u.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if name == "." {
		return errors.New("the root is not a directory")
	}
	return u.root.RemoveAll(name)
}

func (u *unpacker) file(h *tar.Header) error {
	f, err := u.root.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, u.archive)
	for key, value := range h.PAXRecords {
		// File capabilities would be set-user-ID bits by another name.
		if name, ok := strings.CutPrefix(key, xattrPrefix+"user."); ok && err == nil {
			err = unix.Fsetxattr(int(f.Fd()), "user."+name, []byte(value), 0)
		}
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := u.own(h); err != nil {
		return err
	}
	if err := u.root.Chmod(h.Name, os.FileMode(h.Mode).Perm()); err != nil {
		return err
	}
	return u.root.Chtimes(h.Name, h.ModTime, h.ModTime)
}

func (u *unpacker) own(h *tar.Header) error {
	if h.Uid < 0 || h.Uid >= idCount || h.Gid < 0 || h.Gid >= idCount {
		return fmt.Errorf("owner %d:%d is not among the ids of a sandbox", h.Uid, h.Gid)
	}
	return u.root.Lchown(h.Name, h.Uid, h.Gid)
}

// finish sets the modes of directories, deepest first, when nothing is to be
// created in them any more.
func (u *unpacker) finish() error {
	for i := len(u.dirs) - 1; i >= 0; i-- {
		h := u.dirs[i]
		mode := os.FileMode(h.Mode).Perm()
		if h.Mode&unix.S_ISVTX != 0 {
			mode |= os.ModeSticky
		}
		if err := u.root.Chmod(h.Name, mode); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
		if err := u.root.Chtimes(h.Name, h.ModTime, h.ModTime); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
	return nil
}
