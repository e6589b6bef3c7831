package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/sallyport/sallyport/sandboxd/githelper"
	"github.com/sallyport/sallyport/sandboxd/inside"
	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// runner runs commands in a sandbox with the variables env.
func runner(sandbox *runs.Sandbox, env []string) inside.Runner {
	return func(ctx context.Context, c inside.Command) (inside.Result, error) {
		user := "user"
		if c.Root {
			user = "root"
		}
		var stdout, stderr inside.Buffer
		process, err := sandbox.Exec(ctx, runs.Exec{
			Argv: c.Argv, Env: append(env[:len(env):len(env)], c.Env...), Dir: c.Dir, User: user,
			Stdin: strings.NewReader(c.Stdin), Stdout: &stdout, Stderr: &stderr,
		})
		if err != nil {
			return inside.Result{}, err
		}
		exit, err := process.Wait(ctx)
		if err != nil {
			if ctx.Err() != nil {
				_ = process.Signal(os.Kill)
			}
			return inside.Result{}, err
		}
		if exit.Reason != "" {
			_, _ = fmt.Fprintln(&stderr, exit.Reason)
		}
		return inside.Result{Code: exit.Code, Stdout: stdout.String(), Stderr: stderr.String()}, nil
	}
}

// verify makes sure that git has credentials before the command is to find out
// (ledger GB-9).
func (g *runGit) verify(ctx context.Context, run inside.Runner) error {
	if !g.verified {
		return nil
	}
	return githelper.Verify(ctx, run, g.granted)
}
