package runs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// killAll kills every process in a cgroup.
func killAll(dir string) error {
	err := os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
	if err == nil {
		return nil
	}
	// v1, and v2 before Linux 5.14, have no such file. Nobody in a cgroup that
	// is to go should start others, but one that does is met the next time.
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for pid := range strings.FieldsSeq(string(b)) {
		if n, err := strconv.Atoi(pid); err == nil && n > 1 {
			_ = unix.Kill(n, unix.SIGKILL)
		}
	}
	return nil
}

// waitEmpty waits for the processes in a cgroup to be gone. v2 tells when that
// happens; v1 has to be asked.
func waitEmpty(ctx context.Context, dir string) error {
	events, err := os.Open(filepath.Join(dir, "cgroup.events"))
	if err != nil {
		return pause(ctx, time.Millisecond)
	}
	defer func() { _ = events.Close() }()
	b := make([]byte, 256)
	for {
		n, err := events.ReadAt(b, 0)
		if n == 0 {
			return err
		}
		if strings.Contains(string(b[:n]), "populated 0") {
			// Empty but still busy, for the moment that it takes to clean up.
			return pause(ctx, time.Millisecond)
		}
		const millisecondsAtMost = 100 // to look at ctx now and then
		fds := []unix.PollFd{{Fd: int32(events.Fd()), Events: unix.POLLPRI}}
		if _, err := unix.Poll(fds, millisecondsAtMost); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
