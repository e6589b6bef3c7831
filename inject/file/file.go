// Package file is the secret source over files, one secret each: a mounted
// secret of an orchestrator, a systemd credential, or a file written by hand.
// A file is read again whenever the resolver asks, so replacing it rotates the
// secret.
//
// One trailing line end is no part of the secret. Files that everyone may
// write are refused: whoever can write one chooses a credential. Files that
// everyone may read are accepted, because orchestrators mount secrets with
// mode 0444 into a namespace of their own.
//
// Security promise: only regular files below 64 KiB are read, named by an
// absolute path, and never a device, a pipe or a directory.
package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/sallyport/sallyport/inject/secret"
)

// Source reads files of this machine. The zero value is ready and safe for
// concurrent use.
type Source struct {
	// Deny are files, and directories below which nothing is read, whichever
	// links lead there: for the keys of the process that reads, which no binding may send
	// anywhere. They are absolute; links in them are followed.
	Deny []string
}

var _ secret.Source = Source{}

// Read implements [secret.Source]; name is an absolute path, and symbolic
// links are followed. The version is the modification time and the inode, so
// it changes with the file whether it is written in place or replaced.
func (s Source) Read(ctx context.Context, name string) (secret.Secret, error) {
	found, err := s.read(ctx, name)
	if err != nil {
		return secret.Secret{}, fmt.Errorf("read secret file %q: %w", name, err)
	}
	return found, nil
}

func (s Source) read(ctx context.Context, name string) (secret.Secret, error) {
	if err := ctx.Err(); err != nil {
		return secret.Secret{}, fmt.Errorf("%w: %w", secret.ErrUnavailable, err)
	}
	if !filepath.IsAbs(name) {
		return secret.Secret{}, fmt.Errorf("path is not absolute: %w", secret.ErrNotFound)
	}
	// O_NONBLOCK: opening a pipe without a writer would wait for one.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return secret.Secret{}, classify(err)
	}
	defer f.Close()
	if err := s.checkPlace(f); err != nil {
		return secret.Secret{}, err
	}
	version, err := inspect(f)
	if err != nil {
		return secret.Secret{}, err
	}
	// Room for a line end, and a byte more to see that it is too large.
	content, err := io.ReadAll(io.LimitReader(f, secret.MaxValue+3))
	if err != nil {
		return secret.Secret{}, classify(err)
	}
	value := secret.TrimNewline(content)
	if err := secret.CheckSize(value); err != nil {
		return secret.Secret{}, err
	}
	return secret.Secret{Value: secret.NewValue(value), Version: version}, nil
}

// checkPlace refuses an open file below a denied directory. The kernel says
// where it is, so no link that changes meanwhile can make a difference.
func (s Source) checkPlace(f *os.File) error {
	if len(s.Deny) == 0 {
		return nil
	}
	at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return fmt.Errorf("find out where the file is: %w: %w", secret.ErrUnavailable, err)
	}
	// What has been replaced since it was opened, proc_pid_fd(5).
	at = strings.TrimSuffix(at, " (deleted)")
	for _, dir := range s.Deny {
		real, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("find denied directory: %w: %w", secret.ErrUnavailable, err)
		}
		if rel, err := filepath.Rel(real, at); err != nil || filepath.IsLocal(rel) {
			return fmt.Errorf("below %s, where no secret is read from: %w", dir, secret.ErrDenied)
		}
	}
	return nil
}

// inspect refuses what isn't a file that only its owner's side can change, and
// returns its version.
func inspect(f *os.File) (string, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", classify(err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("not a regular file: %w", secret.ErrUnavailable)
	case info.Mode().Perm()&0o002 != 0:
		return "", fmt.Errorf("everyone may write it, mode %04o: %w", info.Mode().Perm(), secret.ErrUnavailable)
	}
	version := strconv.FormatInt(info.ModTime().UnixNano(), 10)
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		version += "-" + strconv.FormatUint(stat.Ino, 10)
	}
	return version, nil
}

func classify(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w: %w", secret.ErrNotFound, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %w", secret.ErrDenied, err)
	default:
		return fmt.Errorf("%w: %w", secret.ErrUnavailable, err)
	}
}
