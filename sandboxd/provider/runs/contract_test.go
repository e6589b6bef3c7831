package runs_test

import (
	"testing"

	"github.com/sallyport/sallyport/sandboxd/provider"
	"github.com/sallyport/sallyport/sandboxd/provider/providertest"
	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// Ledger: PR-19
func TestContract(t *testing.T) {
	providertest.Run(t, providertest.Suite{New: func(t *testing.T) provider.Provider {
		p := newProvider(t)
		return runs.Contract{Provider: p}
	}})
}
