// Command bench measures the edge against a blind tunnel and against other
// proxies that intercept, side by side in one run, and writes the table that is
// in README.md. See there for how to read it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/sallyport/sallyport/integration/bench/load"
	"github.com/sallyport/sallyport/integration/bench/peer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// settings are what the command line says.
type settings struct {
	edge   string
	only   string
	peers  string
	readme string
	growth bool
	rounds int
	bounds load.Bounds
	pin    bool
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == peer.SelfCommand {
		return exit(stderr, peer.ServeSelf(args[1:]))
	}
	s, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = measure(ctx, s, stdout)
	}
	return exit(stderr, err)
}

func exit(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "bench:", err)
	return 1
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.edge, "edge", "bin/edge", "the edge `program` to measure")
	flags.StringVar(&s.only, "only", "", "only scenarios with these `names`, comma-separated")
	flags.StringVar(&s.peers, "peers", "direct,blind,squid,mitmproxy,goproxy,edge", "whom to measure, by `names`")
	flags.StringVar(&s.readme, "readme", "", "put the tables into this `file`, between its marks")
	flags.BoolVar(&s.growth, "growth", true, "also measure how cost grows with boundaries, rules and hosts")
	flags.BoolVar(&s.pin, "pin", runtime.NumCPU() > 1, "give proxies the first processor and leave the others to load and origin")
	flags.IntVar(&s.rounds, "rounds", 5, "how often each is measured")
	flags.DurationVar(&s.bounds.Measure, "time", 3*time.Second, "for how long at least")
	quick := flags.Bool("quick", false, "one short round: enough to see that all of it works")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	s.bounds.Warm, s.bounds.Operations = s.bounds.Measure/4, 20
	if *quick {
		s.rounds, s.bounds = 1, load.Bounds{Warm: 200 * time.Millisecond, Measure: 700 * time.Millisecond, Operations: 5}
	}
	return s, nil
}

// measure runs all that is asked for and prints the tables.
func measure(ctx context.Context, s settings, stdout io.Writer) error {
	if s.pin {
		if err := leaveFirst(); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program, err := filepath.Abs(s.edge)
	if err != nil {
		return err
	}
	w, err := peer.New(peer.Options{Self: []string{self, peer.SelfCommand}, Edge: program, Pin: s.pin})
	if err != nil {
		return err
	}
	defer w.Close()
	var text strings.Builder
	out := io.MultiWriter(stdout, &text)
	if err := compare(ctx, s, w, out); err != nil {
		return err
	}
	if s.growth {
		if err := grow(ctx, s, w, out); err != nil {
			return err
		}
	}
	if s.readme == "" {
		return nil
	}
	return intoReadme(s.readme, text.String())
}
