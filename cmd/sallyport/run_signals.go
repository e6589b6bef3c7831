package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signals are those that are meant for the command. They are caught from the
// moment a run begins, so that none of them ends it without its clean-up.
type signals struct {
	caught chan os.Signal
	broken chan os.Signal // SIGPIPE, which is dropped
}

func catchSignals() *signals {
	s := &signals{caught: make(chan os.Signal, 16), broken: make(chan os.Signal, 1)}
	signal.Notify(s.caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH)
	// Output that nobody reads is the command's to notice: the Go runtime would
	// end this program at once, without its clean-up. Ignored, the signal
	// would be so in the command too.
	signal.Notify(s.broken, syscall.SIGPIPE)
	return s
}

func (s *signals) stop() { signal.Stop(s.caught); signal.Stop(s.broken) }

// interruption is the cause of a context that a signal ended.
type interruption struct{ signal syscall.Signal }

func (i interruption) Error() string { return "interrupted: " + i.signal.String() }

// during calls f with a context that ends at the first signal which would have
// ended the command. There is no command yet to forward it to.
func (s *signals) during(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	for {
		select {
		case err := <-done:
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		case caught := <-s.caught:
			switch sig := caught.(syscall.Signal); sig {
			case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
				cancel(interruption{sig})
			}
		}
	}
}
