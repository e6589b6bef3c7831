package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

const (
	// execTime is how long a ready sandbox may take to start the command.
	execTime = 30 * time.Second
	// teardownTime is how long each step of a run's clean-up may take.
	teardownTime = 15 * time.Second
)

func newRunCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run one command in a sandbox, with a guarded way out",
		Long: `Run one command in a sandbox, with a guarded way out.

The command sees the host's /usr read-only, an empty file system around it and
no network but the edge's: without --policy, --allow or --unrestricted it
reaches no host at all. It never sees a secret: --secret gives it a placeholder,
which the edge replaces on the way to the secret's own host.

The exit code is the command's own, 128+N if signal N ended it, 127 if it
doesn't exist and 124 if it ran out of time. No daemon is needed, and nothing is
left behind. An ordinary user needs unprivileged user namespaces.`,
		Example: `  sallyport run -- sh -c 'ls /workspace'
  sallyport run --allow '*.example.com' --workspace . -- make test
  sallyport run --policy policy.yaml --secret API_TOKEN@api.example.com -- ./agent
  sallyport run --secret KEY@api.example.com/X-Api-Key --secret-from KEY=file:key.txt \
      --allow api.example.com --audit audit.jsonl -- ./agent`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageErrorf("no command to run: put it after --, as in `sallyport run -- COMMAND`")
			}
			return nil
		},
	}
	f.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		done, code, err := runs.EnterUserNamespace()
		if err != nil {
			return err
		}
		if done {
			return exitWith(code, nil)
		}
		plan, err := f.plan(cmd, args)
		if err != nil {
			return err
		}
		return exitWith(plan.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()))
	}
	return cmd
}

// exitWith returns the error that makes the program exit with code.
func exitWith(code int, err error) error {
	if code == exitDone && err == nil {
		return nil
	}
	return exitError{code: code, err: err}
}

// running is what a run has started.
type running struct {
	dir          *runDir
	provider     *runs.Provider
	edge         *edgeProcess
	network      *runs.Network
	placeholders map[string]string // by variable
	trust        *certs.Trust
	sandbox      *runs.Sandbox
	process      *runs.Process

	teardown []func(context.Context) error // in reverse order
}

func (r *running) atEnd(f func(context.Context) error) { r.teardown = append(r.teardown, f) }

// end undoes what was started, the last first, however the run has ended.
func (r *running) end(ctx context.Context) error {
	var errs []error
	for i := len(r.teardown) - 1; i >= 0; i-- {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), teardownTime)
		errs = append(errs, r.teardown[i](ctx))
		cancel()
	}
	return errors.Join(errs...)
}

// run starts an edge and a sandbox, runs the command in it and returns its exit
// code once everything is gone again.
func (p *runPlan) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) (code int, err error) {
	ctx = context.WithoutCancel(ctx) // signals are the command's
	s := catchSignals()
	defer s.stop()
	r := &running{}
	defer func() {
		if endErr := r.end(ctx); endErr != nil {
			err = errors.Join(err, fmt.Errorf("clean up: %w", endErr))
			if code == exitDone {
				code = exitFailed
			}
		}
	}()
	err = s.during(ctx, func(ctx context.Context) error {
		if err := p.prepare(ctx, r, stderr); err != nil {
			return err
		}
		return p.start(ctx, r)
	})
	var i interruption
	if errors.As(err, &i) {
		return 128 + int(i.signal), nil
	}
	if err != nil {
		return exitFailed, err
	}
	// From here on signals are held for the command, which may be quicker to
	// say that it is ready than we are to hear that it has begun.
	if err := p.exec(ctx, r, stdin, stdout, stderr); err != nil {
		return exitFailed, err
	}
	if p.flags.tty {
		restore, err := rawTerminal(stdin)
		if err != nil {
			return exitFailed, err
		}
		defer restore()
	}
	return p.supervise(ctx, r.process, s)
}

// prepare makes everything but the command: directories, the edge, the network,
// the open boundary and then the sandbox. Nothing runs in the sandbox before
// its boundary is open.
func (p *runPlan) prepare(ctx context.Context, r *running, stderr io.Writer) error {
	base, err := runBase()
	if err != nil {
		return err
	}
	if r.provider, err = makeProvider(ctx, base); err != nil {
		return err
	}
	if p.flags.limits() != (runs.Limits{}) {
		for _, sentence := range r.provider.Degraded() {
			fmt.Fprintln(stderr, "sallyport: warning:", sentence)
		}
	}
	if r.dir, err = makeRunDir(base); err != nil {
		return err
	}
	r.atEnd(r.dir.remove)
	if r.edge, err = startEdge(r.dir.path, p.edgeConfig(r.dir.path), stderr); err != nil {
		return err
	}
	r.atEnd(r.edge.stop)
	if r.network, err = r.provider.Network(ctx); err != nil {
		return diagnose(ctx, r.provider, err)
	}
	r.atEnd(func(context.Context) error { return r.network.Close() })
	return r.edge.wait(ctx)
}

// diagnose returns what the machine lacks, if it lacks anything, in place of
// the failure that came of it.
func diagnose(ctx context.Context, provider *runs.Provider, err error) error {
	if why := provider.Check(ctx); why != nil {
		return fmt.Errorf("this machine can't run sandboxes: %w", why)
	}
	return err
}

// start opens the boundary and starts the sandbox.
func (p *runPlan) start(ctx context.Context, r *running) (err error) {
	if p.secrets.vault != nil {
		r.atEnd(keepLeases(ctx, p.secrets.vault))
	}
	if r.placeholders, err = p.openBoundary(ctx, r.dir.id, r.edge.client, r.network); err != nil {
		return err
	}
	if r.trust, err = fetchTrust(ctx, r.edge.client); err != nil {
		return err
	}
	if r.sandbox, err = p.startSandbox(ctx, r.provider, r.dir.id, r.network, r.trust); err != nil {
		return err
	}
	r.atEnd(r.sandbox.Stop)
	return p.git.verify(ctx, runner(r.sandbox, p.platform(r.trust)))
}

// exec starts the command.
func (p *runPlan) exec(ctx context.Context, r *running, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, execTime)
	defer cancel()
	rows, cols := terminalSize()
	r.process, err = r.sandbox.Exec(ctx, runs.Exec{
		Argv: p.argv,
		Env:  p.environment(r.trust, r.placeholders),
		Dir:  p.flags.workdir, User: p.flags.user,
		Stdin: stdin, Stdout: stdout, Stderr: stderr,
		TTY: p.flags.tty, Rows: rows, Cols: cols,
	})
	return err
}

// edgeConfig returns the configuration of the edge whose files are in dir.
func (p *runPlan) edgeConfig(dir string) config.Document {
	doc := config.Document{
		State:    dir,
		Audit:    p.audit,
		Listen:   config.DocumentListen{Control: filepath.Join(dir, "control")},
		Upstream: p.upstream,
		Issuers:  p.git.issuers,
	}
	if doc.Audit == "" {
		doc.Audit = "/dev/null"
	}
	return doc
}
