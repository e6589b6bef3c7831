package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

const (
	exitTimeout = 124 // as timeout(1) has it
	// killAfter is how long a command that has run out of time may take to
	// end by itself.
	killAfter = 3 * time.Second
)

// outcome is what Wait of a process returned.
type outcome struct {
	exit runs.Exit
	err  error
}

// supervise passes signals on to the command until it ends, and returns the
// exit code that it means. A command that has run out of time is asked to end,
// and left to the sandbox's own end if it doesn't.
func (p *runPlan) supervise(ctx context.Context, process *runs.Process, s *signals) (int, error) {
	ended := make(chan outcome, 1)
	go func() {
		exit, err := process.Wait(ctx)
		ended <- outcome{exit, err}
	}()
	var timeout, kill <-chan time.Time // nil: never
	if p.flags.timeout > 0 {
		timeout = time.After(p.flags.timeout)
	}
	for {
		select {
		case o := <-ended:
			if kill != nil {
				return exitTimeout, p.timedOut()
			}
			return o.code(p.argv[0])
		case caught := <-s.caught:
			if caught == syscall.SIGWINCH {
				resize(process)
				continue
			}
			// An error means that it has just ended, which is told above.
			_ = process.Signal(caught)
		case <-timeout:
			kill = time.After(killAfter)
			_ = process.Signal(syscall.SIGTERM)
		case <-kill:
			return exitTimeout, p.timedOut()
		}
	}
}

func (p *runPlan) timedOut() error { return fmt.Errorf("timed out after %v", p.flags.timeout) }

// code returns the exit code of the command, with an error to print if the
// code alone doesn't tell what happened.
func (o outcome) code(name string) (int, error) {
	switch {
	case o.err != nil:
		return exitFailed, fmt.Errorf("wait for command: %w", o.err)
	case o.exit.OOM:
		return o.exit.Code, fmt.Errorf("%s: killed for want of memory: raise --memory", name)
	case o.exit.Reason != "":
		return o.exit.Code, errors.New(o.exit.Reason)
	default:
		return o.exit.Code, nil
	}
}

// terminalSize returns the size of the terminal that we were started on.
func terminalSize() (rows, cols uint16) {
	for _, f := range []*os.File{os.Stdout, os.Stdin, os.Stderr} {
		if c, r, err := term.GetSize(int(f.Fd())); err == nil && r > 0 && c > 0 {
			return uint16(r), uint16(c)
		}
	}
	return 24, 80
}

func resize(process *runs.Process) {
	rows, cols := terminalSize()
	_ = process.Resize(rows, cols) // fails without a terminal, or once it has ended
}

// rawTerminal gives every key to the command, if in is a terminal. The caller
// calls restore, whatever happens.
func rawTerminal(in any) (restore func(), err error) {
	f, isFile := in.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return func() {}, nil
	}
	before, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, fmt.Errorf("prepare terminal: %w", err)
	}
	return func() { _ = term.Restore(int(f.Fd()), before) }, nil
}
