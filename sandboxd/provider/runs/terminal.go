package runs

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// endOfInput is what a terminal takes for the end of its input when it stands
// at the start of a line (VEOF).
const endOfInput = 4

// attach connects the master of a command's terminal.
func (s *streams) attach(master *os.File) {
	s.master = master
	s.copies = make(chan error, 1)
	out := s.stdout
	if out == nil {
		out = io.Discard
	}
	s.copyFrom(master, out)
	if s.stdin == nil {
		return
	}
	go func() {
		// A reader that never ends is left behind in its Read.
		if _, err := io.Copy(master, s.stdin); err == nil {
			_, _ = master.Write([]byte{endOfInput})
		}
	}()
}

func (s *streams) resize(rows, cols uint16) error {
	if s.master == nil {
		return errors.New("resize: the command has no terminal")
	}
	c, err := s.master.SyscallConn()
	if err != nil {
		return fmt.Errorf("resize: %w", err)
	}
	// Control fails only when the file is closed: the command has ended.
	_ = c.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	})
	if err != nil {
		return fmt.Errorf("resize: %w", err)
	}
	return nil
}
