package runs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// outputGrace is how long output is read after the command has ended, if
// something that it left running still holds the other end.
const outputGrace = time.Second

// streams connect a command's input and output to those of its Exec.
type streams struct {
	theirs   [3]*os.File // stdin, stdout and stderr of the command, to hand over
	borrowed [3]bool     // which of them aren't ours to close
	pipes    bool        // the command may have the caller's own pipes

	stdin  io.Reader
	stdout io.Writer
	input  *os.File   // where stdin is copied to, if it is
	reads  []*os.File // where output is copied from
	copies chan error // a result for each of reads
	master *os.File   // of the terminal, which is both
	once   sync.Once  // closes input
}

// open prepares the descriptors to hand over and starts to copy.
func (s *streams) open(e Exec) (err error) {
	defer func() {
		if err != nil {
			s.closeTheirs()
			s.abort()
		}
	}()
	s.copies = make(chan error, 2)
	if err := s.openInput(e.Stdin); err != nil {
		return err
	}
	if err := s.openOutput(1, e.Stdout); err != nil {
		return err
	}
	if e.Stderr != nil && same(e.Stderr, e.Stdout) {
		s.theirs[2], s.borrowed[2] = s.theirs[1], true
		return nil
	}
	return s.openOutput(2, e.Stderr)
}

// handed returns v if it is a file that the command may have itself: a pipe,
// where the caller's files aren't the command's. Everything else is copied, for
// a descriptor is more than what is read from it or written to it. A socket is
// of the host's network, wherever it is connected to now. A file can be opened
// again by /proc/self/fd for more than the caller gave, and its owner can change
// its mode. A terminal belongs to who sits at it.
func (s *streams) handed(v any) (*os.File, error) {
	f, ok := v.(*os.File)
	if !ok || f == nil {
		return nil, nil
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return nil, fmt.Errorf("%s is a directory, which can be neither read nor written", f.Name())
	}
	if !s.pipes || st.Mode().Type() != fs.ModeNamedPipe {
		return nil, nil
	}
	return f, nil
}

func (s *streams) openInput(r io.Reader) error {
	f, err := s.handed(r)
	if err != nil {
		return err
	}
	switch {
	case f != nil:
		s.theirs[0], s.borrowed[0] = f, true
		return nil
	case r == nil:
		s.theirs[0], err = os.Open(os.DevNull)
		return err
	}
	if s.theirs[0], s.input, err = os.Pipe(); err != nil {
		return err
	}
	go func() {
		// The command may end without reading all: that is its business.
		_, _ = io.Copy(s.input, r)
		s.closeInput()
	}()
	return nil
}

func (s *streams) openOutput(n int, w io.Writer) error {
	f, err := s.handed(w)
	if err != nil {
		return err
	}
	switch {
	case f != nil:
		s.theirs[n], s.borrowed[n] = f, true
		return nil
	case w == nil:
		s.theirs[n], err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		return err
	}
	r, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	s.theirs[n] = theirs
	s.copyFrom(r, w)
	return nil
}

func (s *streams) copyFrom(r *os.File, w io.Writer) {
	s.reads = append(s.reads, r)
	go func() { s.copies <- copyOutput(w, r) }()
}

func (s *streams) closeTheirs() {
	for i, f := range s.theirs {
		if f != nil && !s.borrowed[i] {
			_ = f.Close()
		}
		s.theirs[i] = nil
	}
}

func (s *streams) closeInput() {
	if s.input != nil {
		s.once.Do(func() { _ = s.input.Close() })
	}
}

// abort lets go of everything when the command won't run.
func (s *streams) abort() {
	s.closeInput()
	for _, r := range s.reads {
		_ = r.Close()
	}
}

// finish waits until the output has been copied, at most for outputGrace plus
// what the writers take.
func (s *streams) finish() error {
	deadline := time.Now().Add(outputGrace)
	for _, r := range s.reads {
		_ = r.SetReadDeadline(deadline)
	}
	var errs []error
	for range s.reads {
		errs = append(errs, <-s.copies)
	}
	s.closeInput()
	for _, r := range s.reads {
		_ = r.Close()
	}
	return errors.Join(errs...)
}

// copyOutput copies until the end or the reader's deadline, and then what is
// there already.
func copyOutput(w io.Writer, r *os.File) error {
	_, err := io.Copy(w, r)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return drain(w, r)
	case errors.Is(err, unix.EIO) || errors.Is(err, os.ErrClosed):
		return nil // how the end of a terminal's output shows
	case errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET):
		// The command learns it as it would have from a pipe of the caller's.
		return r.Close()
	case err != nil:
		// Nobody takes the output any more; the command shouldn't hang.
		_, _ = io.Copy(io.Discard, r)
		return fmt.Errorf("copy output: %w", err)
	}
	return nil
}

// drain copies what a pipe holds without waiting for more. A pipe that is
// being filled all the time is left after as much as one can hold.
func drain(w io.Writer, r *os.File) error {
	const most = 1 << 20
	c, err := r.SyscallConn()
	if err != nil {
		return err
	}
	b := make([]byte, 64<<10)
	for total := 0; total < most; {
		n := 0
		if cerr := c.Control(func(fd uintptr) { n, err = unix.Read(int(fd), b) }); cerr != nil {
			return nil //nolint:nilerr // the pipe is closed: no more to be had
		}
		if err != nil || n <= 0 {
			return nil //nolint:nilerr // as above
		}
		total += n
		if _, err := w.Write(b[:n]); err != nil {
			return fmt.Errorf("copy output: %w", err)
		}
	}
	return nil
}

// same says whether two writers are one, as os/exec sees it, or one file, as
// the shell's 2>&1 makes them: what arrives there keeps its order.
func same(a, b any) bool {
	defer func() { _ = recover() }() // values that can't be compared
	return a == b || sameFile(a, b)
}

func sameFile(a, b any) bool {
	f, isFile := a.(*os.File)
	g, areFiles := b.(*os.File)
	if !isFile || !areFiles || f == nil || g == nil {
		return false
	}
	st, err := f.Stat()
	if err != nil {
		return false
	}
	other, err := g.Stat()
	return err == nil && os.SameFile(st, other)
}
