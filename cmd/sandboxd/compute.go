package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"path"
	"path/filepath"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/edge/control"
	"github.com/sallyport/sallyport/sandboxd"
	"github.com/sallyport/sallyport/sandboxd/boundaries"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/id"
	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/machine"
	"github.com/sallyport/sallyport/sandboxd/provider"
	"github.com/sallyport/sallyport/sandboxd/provider/runs"
	"github.com/sallyport/sallyport/sandboxd/setup"
)

// Folders of the state directory, beside the store.
const (
	sandboxesDir = "sandboxes" // of the provider: sandboxes, layers
	logsDir      = "logs"      // of setup runs
)

// compute is what runs sandboxes, or says why nothing does.
type compute struct {
	offer  sandboxd.Offer
	runs   sandboxd.Runs
	runner *setup.Runner // nil: nothing runs
	keeper *image.Keeper
	close  func() error
}

// compute takes this machine into use. That it can't run sandboxes, or that
// there is no edge, is no error: the API then says so to whoever asks for a run.
func (d daemon) compute(ctx context.Context, records sandboxd.Records, ids *id.Source) (*compute, error) {
	catalogue, err := d.config.catalogue()
	if err != nil {
		return nil, err
	}
	isolation, err := runs.New(runs.Config{StateDir: filepath.Join(d.config.State, sandboxesDir)})
	if err != nil {
		return nil, err
	}
	contract := runs.Contract{Provider: isolation}
	description := contract.Describe(ctx)
	if d.config.Edge.Control == "" {
		description.Available, description.Reason = false, "no edge is configured (edge.control)"
	}
	c := &compute{offer: offer(description, catalogue), runs: sandboxd.Idle{Records: records, Reason: description.Reason}, close: contract.Close}
	if !description.Available {
		d.log.LogAttrs(ctx, slog.LevelWarn, "no sandbox can be started", slog.String("reason", description.Reason))
		return c, nil
	}
	if err := contract.Reap(ctx); err != nil {
		return nil, fmt.Errorf("clear away what a crash left: %w", err)
	}
	c.keeper, err = image.NewKeeper(image.Options{
		Records: records, Provider: runs.Name, Layers: contract, Log: d.log,
		NewID: func() string { return ids.New(id.Image) },
	})
	if err != nil {
		return nil, err
	}
	c.runner, err = setup.NewRunner(setup.Options{
		Providers:       map[string]provider.Provider{runs.Name: contract},
		Boundaries:      boundaries.Edge{Client: control.NewClient(d.config.Edge.Control), Trust: trust},
		Images:          c.keeper,
		Records:         records,
		Catalogue:       catalogue,
		LogDir:          filepath.Join(d.config.State, logsDir),
		Parallel:        d.config.Limits.ParallelRuns,
		PerOrganization: d.config.Limits.RunsPerOrganization,
		NewID:           func() string { return ids.New(id.SetupRun) },
		Log:             d.log,
	})
	c.runs = c.runner
	return c, err
}

// offer is what environments may have of a provider.
func offer(d provider.Description, catalogue machine.Catalogue) sandboxd.Offer {
	return sandboxd.Offer{
		Description: d,
		Rules: environment.Provider{
			Name: d.Name, Machines: catalogue,
			Privileged: d.Has(provider.Privileged), ComputerUse: d.Has(provider.ComputerUse),
		},
		Default: true,
	}
}

// serve runs what was accepted until ctx is done.
func (c *compute) serve(ctx context.Context) error {
	if c.runner == nil {
		return nil
	}
	return c.runner.Serve(ctx)
}

// sweep removes what belonged to forgotten runs, and images that nothing
// refers to.
func (c *compute) sweep(ctx context.Context, forgotten []string) error {
	if c.runner == nil {
		return nil
	}
	for _, run := range forgotten {
		if err := c.runner.RemoveLog(run); err != nil {
			return err
		}
	}
	_, err := c.keeper.Collect(ctx)
	return err
}

// trustDir is where in a sandbox the files are that its variables name.
const trustDir = "/etc/sallyport"

// trust returns what makes a sandbox trust the edge: files that fit the image,
// by path, and variables. The host image has the host's /usr, where nothing can
// be placed.
func trust(ca string, i provider.Image, proxyURL string) (map[string][]byte, map[string]string, error) {
	roots, err := certs.SystemRoots()
	if err != nil {
		return nil, nil, err
	}
	made, err := certs.NewTrust(trustDir, []byte(ca), roots)
	if err != nil {
		return nil, nil, err
	}
	files := made.Files()
	for name, data := range made.StoreFiles() {
		if !i.Host || path.Dir(name) == "/etc/ssl/certs" {
			files[name] = data
		}
	}
	proxy, err := url.Parse(proxyURL)
	if err != nil {
		return nil, nil, fmt.Errorf("read the address of the proxy: %w", err)
	}
	return files, made.Env(proxy), nil
}
