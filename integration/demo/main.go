// Command demo shows the boundary at work: a job in a sandbox uses an API whose
// key it never holds, and then tries to do more than it may. Each step says what
// it shows and fails the demo if it doesn't hold. Run it with make demo.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/sallyport/sallyport/integration/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx)
	stop()
	os.Exit(code)
}

func run(ctx context.Context) int {
	out := newPrinter(os.Stdout)
	d, err := prepare()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		return 1
	}
	defer d.close()

	out.opening()
	for i, s := range d.steps() {
		out.step(i+1, s)
		if err := d.play(ctx, s, out); err != nil {
			out.failed(err)
			return 1
		}
	}
	out.closing()
	return 0
}

// demo is the world in which the steps are played.
type demo struct {
	product *harness.Product
	origin  *harness.Origin
	dir     string // CA, token and audit
}

// The names of the origin; all but the last are in the policy.
const (
	api   = "api.example.test"
	other = "other.example.test"
	off   = "unlisted.example.test"

	token = "live-2b7e151628aed2a6-known-to-nobody-in-the-sandbox"
)

func prepare() (*demo, error) {
	product, err := harness.Install("bin")
	if err != nil {
		return nil, err
	}
	ca, err := harness.NewCA()
	if err != nil {
		return nil, err
	}
	cert, err := ca.Issue(api, other, off)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sallyport-demo-")
	if err != nil {
		return nil, err
	}
	d := &demo{product: product, origin: harness.NewOrigin(&cert), dir: dir}
	if err := os.WriteFile(d.path("ca.pem"), ca.PEM(), 0o600); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *demo) path(name string) string { return d.dir + "/" + name }

func (d *demo) close() {
	d.origin.Close()
	for _, err := range []error{d.product.Remove(), os.RemoveAll(d.dir)} {
		if err != nil {
			fmt.Fprintln(os.Stderr, "demo: clean up:", err)
		}
	}
}
