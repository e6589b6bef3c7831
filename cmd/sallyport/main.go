// Command sallyport is the operator's tool: policies, one guarded command,
// secrets, environments and sessions.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command without the process around it: it returns the exit
// code, one of the constants in exit.go unless the command ran another one.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)

	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	exit := exitError{code: exitUsage, err: err}
	errors.As(err, &exit)
	if exit.err != nil {
		fmt.Fprintf(stderr, "sallyport: %v\n", exit.err)
		if exit.code == exitUsage {
			fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
		}
	}
	return exit.code
}
