// Command git-credential-sallyport is the git credential helper inside a
// sandbox. It holds nothing and decides nothing: it relays between git and the
// broker on the edge.
package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/sallyport/sallyport/broker/gitcred"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command without the process around it. SALLYPORT_BROKER
// names another socket; whoever can set it could as well ask that socket.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	socket := cmp.Or(os.Getenv("SALLYPORT_BROKER"), gitcred.Socket)
	return gitcred.Helper{Client: gitcred.Client{Socket: socket}, Stdin: stdin, Stdout: stdout, Stderr: stderr}.Run(ctx, args)
}
