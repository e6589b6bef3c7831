package main

import (
	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

// makeEntries creates what the sandbox's root should hold. It runs inside that
// root, so whatever links an image has lead nowhere else.
func makeEntries(entries []wire.Entry) error {
	for i := range entries {
		if err := makeEntry(&entries[i]); err != nil {
			return failed("create "+entries[i].Path, err)
		}
	}
	return nil
}

func makeEntry(e *wire.Entry) error {
	err := create(e)
	if err == unix.ENOENT {
		if err := makeParents(e.Path); err != nil {
			return err
		}
		err = create(e)
	}
	if err != unix.EEXIST {
		return err
	}
	if e.Kind == wire.Dir || e.Kind == wire.FileIfAbsent {
		return nil
	}
	if err := unix.Unlink(e.Path); err != nil {
		return err
	}
	return create(e)
}

// create creates the entry, or fails with EEXIST.
func create(e *wire.Entry) error {
	switch e.Kind {
	case wire.Dir:
		if err := unix.Mkdir(e.Path, 0o700); err != nil {
			return err
		}
		return own(e)
	case wire.Link:
		return unix.Symlink(string(e.Data), e.Path)
	case wire.File, wire.FileIfAbsent:
		return writeFile(e)
	default:
		return wire.ErrMalformed
	}
}

func writeFile(e *wire.Entry) error {
	fd, err := unix.Open(e.Path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	err = writeAll(fd, e.Data)
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	if err == nil {
		err = own(e)
	}
	return err
}

func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// own gives the entry its owner, then its mode, which a change of owner would
// have trimmed.
func own(e *wire.Entry) error {
	if int(e.ID) != unix.Getuid() {
		if err := unix.Lchown(e.Path, int(e.ID), int(e.ID)); err != nil {
			return err
		}
	}
	return unix.Chmod(e.Path, e.Mode)
}
