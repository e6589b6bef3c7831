package main

import (
	"os"

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
	if err := makeParents(e.Path); err != nil {
		return err
	}
	switch e.Kind {
	case wire.Dir:
		if err := unix.Mkdir(e.Path, e.Mode); err != nil {
			if err == unix.EEXIST {
				return nil
			}
			return err
		}
		return own(e)
	case wire.Link:
		if err := remove(e.Path); err != nil {
			return err
		}
		return unix.Symlink(string(e.Data), e.Path)
	case wire.FileIfAbsent:
		if unix.Access(e.Path, unix.F_OK) == nil {
			return nil
		}
	case wire.File:
		if err := remove(e.Path); err != nil {
			return err
		}
	default:
		return wire.ErrMalformed
	}
	return writeFile(e)
}

func writeFile(e *wire.Entry) error {
	f, err := os.OpenFile(e.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(e.Data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = own(e)
	}
	return err
}

// own gives the entry its owner, then its mode, which a change of owner or the
// umask would have trimmed.
func own(e *wire.Entry) error {
	if err := unix.Lchown(e.Path, int(e.ID), int(e.ID)); err != nil {
		return err
	}
	return unix.Chmod(e.Path, e.Mode)
}

func remove(path string) error {
	if err := unix.Unlink(path); err != nil && err != unix.ENOENT {
		return err
	}
	return nil
}
