// Package integration_test proves the product from outside: its binaries, real
// clients, real servers, real namespaces.
package integration_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/sallyport/sallyport/integration/harness"
)

var product *harness.Product

func TestMain(m *testing.M) {
	var err error
	if product, err = harness.Build(".."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := product.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
