package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/sallyport/sallyport/sandboxd"
	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/api"
	"github.com/sallyport/sallyport/sandboxd/environment/template"
	"github.com/sallyport/sallyport/sandboxd/id"
	"github.com/sallyport/sallyport/sandboxd/store/sqlite"
	"github.com/sallyport/sallyport/sandboxd/toolhosts"
)

func newServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve --config FILE",
		Short: "Serve the control API",
		Long: `Serve the control API. Once it answers, one line of JSON on standard output says
where. The log goes to standard error. SIGTERM and SIGINT stop it.

The first start makes an organisation and an admin key. The key is in that line,
this once, or in the file that --admin-key-file names. A file without a valid
admin key gets a new one at every start, so a lost key can be replaced by
whoever can read and write the state.

SANDBOXD_STATE, SANDBOXD_LISTEN and SANDBOXD_EDGE_CONTROL replace what the
configuration says.`,
		Example: "  sandboxd serve --config sandboxd.yaml --admin-key-file admin.key",
		Args:    cobra.NoArgs,
	}
	path := addConfigFlag(cmd)
	keyFile := cmd.Flags().String("admin-key-file", "", "`FILE` of the admin key, made with mode 0600")
	var level slog.LevelVar
	cmd.Flags().TextVar(&level, "log-level", &level, "log `LEVEL`: debug, info, warn or error")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := loadConfig(*path)
		if err != nil {
			return failedError{err}
		}
		log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: &level}))
		d := daemon{config: c, keyFile: *keyFile, log: log}
		if err := d.serve(cmd.Context(), json.NewEncoder(cmd.OutOrStdout())); err != nil {
			return failedError{err}
		}
		return nil
	}
	return cmd
}

// daemon is a running "sandboxd serve".
type daemon struct {
	config  *config
	keyFile string
	log     *slog.Logger
}

// ready is the line that says where the API answers.
type ready struct {
	API      string `json:"api"`
	AdminKey string `json:"admin_key,omitempty"` // only when it was made now and has no file
}

// serve serves until ctx is done.
func (d daemon) serve(ctx context.Context, stdout *json.Encoder) (err error) {
	store, err := sqlite.Open(ctx, d.config.State)
	if err != nil {
		return err
	}
	defer store.Close()
	ids := &id.Source{}
	compute, err := d.compute(ctx, sandboxd.Records{Store: store}, ids)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, compute.close()) }()
	service := sandboxd.New(sandboxd.Options{
		Store: store, Runs: compute.runs, Offers: []sandboxd.Offer{compute.offer}, ToolHosts: toolHosts(ctx), IDs: ids,
	})
	key, err := d.adminKey(ctx, service)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", d.config.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if a, ok := listener.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		d.log.LogAttrs(ctx, slog.LevelWarn, "the API is open to other machines, and keys cross the network in the clear: put TLS before it",
			slog.String("address", a.String()))
	}
	server := api.Server(api.New(service, d.log), d.log)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return shutdown(ctx, server)
	})
	group.Go(func() error { return compute.serve(ctx) })
	group.Go(func() error { return d.sweep(ctx, service, compute) })
	if err := stdout.Encode(ready{API: listener.Addr().String(), AdminKey: key}); err != nil {
		stop()
		return errors.Join(fmt.Errorf("announce readiness: %w", err), group.Wait())
	}
	return group.Wait()
}

// drain is how long calls may go on after the end was asked for.
const drain = 10 * time.Second

func shutdown(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("stop serving: %w", err), server.Close())
	}
	return nil
}

// sweepEvery is how often what nobody can ask for is forgotten.
const sweepEvery = time.Hour

func (d daemon) sweep(ctx context.Context, service *sandboxd.Service, compute *compute) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			runs, err := service.Sweep(ctx)
			if err = errors.Join(err, compute.sweep(ctx, runs)); err != nil && ctx.Err() == nil {
				d.log.LogAttrs(ctx, slog.LevelError, "sweep failed", slog.Any("error", err))
			}
		}
	}
}

// toolHosts asks package managers for the hosts that they are configured to use.
func toolHosts(ctx context.Context) map[string][]string {
	ctx, cancel := context.WithTimeout(ctx, askTools)
	defer cancel()
	return toolhosts.Known(ctx, template.Tools())
}

// askTools bounds how long package managers are asked for their hosts at the
// start; templates of those that don't answer show none.
const askTools = 10 * time.Second

// adminKey makes the first key, or a new one for a file that has no valid one.
// What it returns is to be shown; it is empty when there is a file for it.
func (d daemon) adminKey(ctx context.Context, service *sandboxd.Service) (string, error) {
	if d.keyFile == "" {
		empty, err := service.Empty(ctx)
		if err != nil || !empty {
			return "", err
		}
		return service.Bootstrap(ctx)
	}
	data, err := os.ReadFile(d.keyFile)
	if err == nil {
		c, err := service.Authenticate(ctx, strings.TrimSpace(string(data)))
		if err == nil && c.Role == account.Admin {
			return "", nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read admin key: %w", err)
	}
	key, err := service.Bootstrap(ctx)
	if err != nil {
		return "", err
	}
	return "", replaceFile(d.keyFile, key+"\n")
}

// replaceFile writes a file that only its owner can read, whole or not at all.
func replaceFile(path, text string) error {
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write admin key: %w", err)
	}
	f, err := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write admin key: %w", err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write admin key: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("write admin key: %w", err)
	}
	return nil
}
