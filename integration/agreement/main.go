// Command agreement plays the agreement suite against a proxy: whatever a
// client says about where a request goes, the secret reaches the host that it
// is bound to and nobody else. README.md says how to point it at a proxy.
package main

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/sallyport/sallyport/integration/agreement/suite"
)

// Exit codes.
const (
	exitDone   = 0
	exitUnsafe = 1 // the property is broken, or nothing could be played
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// options are the flags.
type options struct {
	list, play, strict, verbose   bool
	init, dir, proxy, ca, literal string
	placeholder, base             string
	command                       []string
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("agreement", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.list, "list", false, "print a line for each row")
	flags.StringVar(&o.init, "init", "", "make `DIR` with what a proxy has to be configured with")
	flags.StringVar(&o.base, "base", "127.77.0.0", "with -init: loopback `ADDRESS` whose next four are the origins'")
	flags.StringVar(&o.dir, "dir", "agreement", "`DIR` that -init has made")
	flags.StringVar(&o.proxy, "proxy", "", "play the explicit rows against the proxy at `URL`")
	flags.StringVar(&o.ca, "ca", "", "`FILE` (PEM) of the proxy's CA")
	flags.StringVar(&o.placeholder, "placeholder", os.Getenv("AGREEMENT_TOKEN"), "what the client sends in place of the secret")
	flags.BoolVar(&o.strict, "strict", false, "fail on every difference, not only on what is unsafe")
	flags.BoolVar(&o.verbose, "v", false, "print every row that was played")
	flags.BoolVar(&o.play, "play", false, "be the client in a sandbox: rows on standard input, answers on standard output")
	flags.StringVar(&o.literal, "literal", "", "with -play: the `ADDRESS` that isn't allowed")
	flags.Usage = func() {
		fmt.Fprint(stderr, "Usage: agreement -list | -init DIR | -proxy URL -ca FILE [-dir DIR] | [-dir DIR] -- COMMAND...\n\n"+
			"A COMMAND runs \"agreement -play\" in a sandbox; the transparent rows are played there.\n\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	o.command = flags.Args()
	unsafe, err := o.do(ctx, stdin, stdout)
	switch {
	case errors.Is(err, errUsage):
		flags.Usage()
		return exitUsage
	case err != nil:
		fmt.Fprintf(stderr, "agreement: %v\n", err)
		return exitUnsafe
	case unsafe:
		return exitUnsafe
	}
	return exitDone
}

var errUsage = errors.New("nothing to do")

func (o options) do(ctx context.Context, stdin io.Reader, stdout io.Writer) (unsafe bool, err error) {
	switch {
	case o.list:
		return false, list(stdout)
	case o.init != "":
		base, err := netip.ParseAddr(o.base)
		if err != nil || !base.Is4() || !base.IsLoopback() {
			return false, fmt.Errorf("-base: expected a loopback address, found %q", o.base)
		}
		return false, prepare(o.init, base)
	case o.play:
		return false, serve(ctx, &suite.Client{Placeholder: o.placeholder, Literal: o.literal}, stdin, stdout)
	case o.proxy != "":
		return o.explicit(ctx, stdout)
	case len(o.command) > 0:
		return o.transparent(ctx, stdout)
	}
	return false, errUsage
}

func list(w io.Writer) error {
	for _, r := range suite.Rows() {
		if _, err := fmt.Fprintf(w, "%-44s %-14s %s\n", r.ID, strings.Join(r.Answers, " "), r.Reason); err != nil {
			return err
		}
	}
	return nil
}

// explicit plays the explicit rows against a proxy.
func (o options) explicit(ctx context.Context, stdout io.Writer) (unsafe bool, err error) {
	proxy, err := url.Parse(o.proxy)
	if err != nil || proxy.Host == "" {
		return false, fmt.Errorf("-proxy: expected a URL, found %q", o.proxy)
	}
	roots := x509.NewCertPool()
	if o.ca != "" {
		pem, err := os.ReadFile(o.ca)
		if err != nil {
			return false, fmt.Errorf("-ca: %w", err)
		}
		if !roots.AppendCertsFromPEM(pem) {
			return false, fmt.Errorf("-ca: no PEM certificates in %s", o.ca)
		}
	}
	world, err := load(o.dir)
	if err != nil {
		return false, err
	}
	client := &suite.Client{Proxy: proxy, Roots: roots, Placeholder: o.placeholder, Literal: world.literal()}
	return o.report(stdout, world, suite.Explicit, func(r suite.Row) ([]string, error) { return client.Play(ctx, r) })
}

// transparent plays the transparent rows through a command.
func (o options) transparent(ctx context.Context, stdout io.Writer) (unsafe bool, err error) {
	world, err := load(o.dir)
	if err != nil {
		return false, err
	}
	player, err := start(ctx, o.command)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, player.stop()) }()
	return o.report(stdout, world, suite.Transparent, player.play)
}

// report plays the rows of a mode and prints what wasn't as it should be.
func (o options) report(w io.Writer, world world, mode string, play func(suite.Row) ([]string, error)) (bad bool, err error) {
	origins, err := world.listen()
	if err != nil {
		return false, err
	}
	defer origins.Close()
	rows, unsafe, differ := 0, 0, 0
	for _, r := range suite.Rows() {
		if r.Mode != mode {
			continue
		}
		rows++
		answers, err := play(r)
		if err != nil {
			return false, fmt.Errorf("play %s: %w", r.ID, err)
		}
		result := origins.Judge(r, answers)
		switch {
		case len(result.Unsafe) > 0:
			unsafe++
			fmt.Fprintf(w, "UNSAFE  %s\n", result)
		case len(result.Differs) > 0:
			differ++
			fmt.Fprintf(w, "differs %s\n", result)
		case o.verbose:
			fmt.Fprintf(w, "ok      %s %v\n", r.ID, answers)
		}
	}
	for _, late := range origins.Unsafe() {
		unsafe++
		fmt.Fprintf(w, "UNSAFE  after the last row: %s\n", late)
	}
	fmt.Fprintf(w, "%s: %d rows, %d unsafe, %d differ\n", mode, rows, unsafe, differ)
	return unsafe > 0 || o.strict && differ > 0, nil
}
