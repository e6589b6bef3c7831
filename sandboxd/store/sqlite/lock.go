package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrInUse is the error of a state directory that another process has open.
var ErrInUse = errors.New("the state directory is in use")

// lockFile is locked as long as a process has the directory open; the kernel
// drops the lock with the process, however that ends.
const lockFile = "sandboxd.lock"

// lock takes the directory for this process and returns what gives it back.
func lock(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state directory: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		defer f.Close()
		return nil, fmt.Errorf("%s is in use by %s: %w", dir, holder(f), ErrInUse)
	}
	if err == nil {
		err = errors.Join(f.Truncate(0), write(f, strconv.Itoa(os.Getpid())))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock state directory: %w", err)
	}
	return func() { f.Close() }, nil
}

func write(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text+"\n"), 0)
	return err
}

// holder names the process that wrote its id into the file.
func holder(f *os.File) string {
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if pid := strings.TrimSpace(string(text)); err == nil && pid != "" {
		return "process " + pid
	}
	return "another process"
}
