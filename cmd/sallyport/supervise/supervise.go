// Package supervise keeps programs of ours running on one machine: it starts
// them in order, starts one again that has ended, and ends them all, the last
// one first. "sallyport up" calls it.
//
// It is no init system: programs that stop each other, or that somebody else
// started, are not its business.
//
// Promise: whatever way Serve returns, none of its programs is left, and when
// this process is killed the kernel tells them to stop.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"time"

	"golang.org/x/sync/errgroup"
)

// A Program is kept running. Name, Command and Ready are required.
type Program struct {
	Name string
	// Command returns the command of the next start. Its standard output and
	// its process attributes are the supervisor's.
	Command func() (*exec.Cmd, error)
	// Ready is told the first line that each start printed, which says that the
	// program serves. An error ends the supervisor.
	Ready func(line string) error
}

// Options of Serve; zero values are defaults.
type Options struct {
	Log *slog.Logger // nil: none
	// Tries is how often a program may end in a row, each time without having
	// run for Settled, before it is given up; zero means 5.
	Tries int
	// Pause is the wait before the first of these tries, doubled with each;
	// zero means 200 ms.
	Pause time.Duration
	// Settled is how long a program runs until its past is forgotten; zero means
	// a minute.
	Settled time.Duration
	// StartWithin bounds the wait for the first line; zero means 30 s.
	StartWithin time.Duration
	// StopWithin is how long a program may take to end; zero means 60 s.
	StopWithin time.Duration
}

func (o Options) complete() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Tries == 0 {
		o.Tries = 5
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&o.Pause, 200 * time.Millisecond}, {&o.Settled, time.Minute}, {&o.StartWithin, 30 * time.Second}, {&o.StopWithin, time.Minute}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return o
}

// Serve starts the programs one after another, each once the one before it is
// ready, and calls ready when all are. It keeps them running until ctx is done,
// then ends them in the other order and returns nil. A program that can't be
// kept running ends all of them, and is the error.
func Serve(ctx context.Context, o Options, programs []Program, ready func() error) error {
	o = o.complete()
	g, failed := errgroup.WithContext(ctx)
	var stops []func()
	var err error
	for _, p := range programs {
		k := &keeper{o: o, p: p, up: make(chan struct{})}
		keep, stop := context.WithCancel(context.WithoutCancel(ctx))
		stopped := make(chan struct{})
		g.Go(func() error {
			defer close(stopped)
			return k.keep(keep)
		})
		stops = append(stops, func() { stop(); <-stopped })
		select {
		case <-k.up:
			continue
		case <-failed.Done():
		}
		break
	}
	if failed.Err() == nil {
		if err = ready(); err == nil {
			<-failed.Done()
		}
	}
	for i := len(stops) - 1; i >= 0; i-- {
		stops[i]()
	}
	return errors.Join(err, g.Wait())
}

// A keeper keeps one program running.
type keeper struct {
	o  Options
	p  Program
	up chan struct{} // closed when the program was ready for the first time
}

// keep runs the program again and again until ctx is done.
func (k *keeper) keep(ctx context.Context) error {
	pause, tries := k.o.Pause, 0
	for {
		began := time.Now()
		err := k.once(ctx)
		if ctx.Err() != nil {
			return err
		}
		if fatal := (*fatalError)(nil); errors.As(err, &fatal) {
			return fmt.Errorf("%s: %w", k.p.Name, fatal.error)
		}
		if time.Since(began) >= k.o.Settled {
			pause, tries = k.o.Pause, 0
		}
		if tries++; tries >= k.o.Tries {
			return fmt.Errorf("%s ended %d times in a row: %w", k.p.Name, tries, err)
		}
		k.o.Log.Warn("a program has ended and is started again", "program", k.p.Name, "error", err, "after", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
		pause *= 2
	}
}

// fatalError is an error that another try doesn't mend.
type fatalError struct{ error }

func (e *fatalError) Unwrap() error { return e.error }
