package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/edge/config"
)

// serveFlags are the flags of "edge serve".
type serveFlags struct {
	config           *string
	user             string
	logLevel         slog.LevelVar
	logFormat        logFormat
	ephemeral        bool
	untilStdinCloses bool
}

func newServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve --config FILE",
		Short: "Serve the proxy and the control socket",
		Long: `Serve the proxy and the control socket. Once both answer, one line of JSON on
standard output says where. The log goes to standard error.

SIGHUP reads the configuration again: static boundaries are replaced as a whole
and the audit file is reopened. A file with a mistake changes nothing. SIGTERM
and SIGINT stop the edge: it accepts nothing more, lets what is under way go on
for timeouts.drain (30 s), then closes it.

Started as root, the edge opens its files and sockets and then becomes the user
of the configuration or of --user. What it reads later, which is secrets of the
sources file and store and a reloaded configuration, that user must be able to
read.`,
		Example: `  edge serve --config edge.yaml
  edge serve --config edge.yaml --user 990:990 --log-level debug`,
		Args: cobra.NoArgs,
	}
	f := serveFlags{config: addConfigFlag(cmd), logFormat: logText}
	flags := cmd.Flags()
	flags.StringVar(&f.user, "user", "", "become `UID:GID` or this account, whatever the configuration says")
	flags.TextVar(&f.logLevel, "log-level", &f.logLevel, "log `LEVEL`: debug, info, warn or error")
	flags.Var(&f.logFormat, "log-format", "log in this `FORMAT`: text or json")
	flags.BoolVar(&f.ephemeral, "ephemeral", false, "make a CA that lives as long as this process, and use no secret store")
	flags.BoolVar(&f.untilStdinCloses, "until-stdin-closes", false, "stop at the end of standard input: for a parent that owns this edge")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		// net/http quotes what upstreams send out of turn to the global logger;
		// what echoes a request holds its secret.
		log.SetOutput(io.Discard)
		ctx := cmd.Context()
		if f.untilStdinCloses {
			var stop context.CancelFunc
			ctx, stop = untilEOF(ctx, cmd.InOrStdin())
			defer stop()
		}
		return serve(ctx, &f, f.logger(cmd.ErrOrStderr()), cmd.OutOrStdout())
	}
	return cmd
}

// untilEOF returns a context that ends with in.
func untilEOF(ctx context.Context, in io.Reader) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		// However reading ends, the parent can't be heard any more.
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	return ctx, cancel
}

// serve runs the edge until ctx is done: it opens what may need the identity
// it was started with, gives that identity up, and only then reads a byte that
// somebody else wrote.
func serve(ctx context.Context, f *serveFlags, log *slog.Logger, stdout io.Writer) error {
	c, err := config.Load(*f.config)
	if err != nil {
		return err
	}
	become, err := f.identity(c)
	if err != nil {
		return err
	}
	held, err := open(c, become, f.ephemeral)
	if err != nil {
		return err
	}
	defer held.close(log)
	if err := confine(become, log); err != nil {
		return err
	}
	d, err := newDaemon(c, held, log)
	if err != nil {
		return err
	}
	d.path = *f.config
	if err := announce(stdout, held); err != nil {
		return err
	}
	return d.serve(ctx)
}

// identity returns the user to become, or nil to stay.
func (f *serveFlags) identity(c *config.Config) (*config.User, error) {
	if f.user == "" {
		return c.User, nil
	}
	u, err := config.ParseUser(f.user)
	if err != nil {
		return nil, fmt.Errorf("--user: %w", err)
	}
	return &u, nil
}

// ready is the line that says where the edge answers.
type ready struct {
	Proxy   string `json:"proxy,omitempty"`
	Control string `json:"control,omitempty"`
	Metrics string `json:"metrics,omitempty"`
}

func announce(stdout io.Writer, held *held) error {
	var r ready
	if held.proxy != nil {
		r.Proxy = held.proxy.Addr().String()
	}
	if held.metrics != nil {
		r.Metrics = held.metrics.Addr().String()
	}
	if held.control != nil {
		r.Control = held.control.Addr().String()
	}
	if err := json.NewEncoder(stdout).Encode(r); err != nil {
		return fmt.Errorf("announce readiness: %w", err)
	}
	return nil
}
