package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sallyport/sallyport/edge"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/edge/control"
	"github.com/sallyport/sallyport/edge/guard"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/env"
	"github.com/sallyport/sallyport/inject/file"
	"github.com/sallyport/sallyport/inject/memory"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/store"
)

// stopWithin is how long a stopping edge waits for what it serves.
const stopWithin = 30 * time.Second

// daemon is a configured edge with its table.
type daemon struct {
	path    string // of the configuration, for reloading
	held    *held
	log     *slog.Logger
	edge    *edge.Edge
	control *control.Server // nil: none
	static  *static
}

func newDaemon(c *config.Config, h *held, log *slog.Logger) (*daemon, error) {
	var key inject.Key
	if _, err := rand.Read(key[:]); err != nil {
		return nil, fmt.Errorf("make placeholder key: %w", err)
	}
	table := &boundary.Table{}
	pushed := memory.New()
	e, err := edge.New(edge.Options{
		Authority:     h.authority,
		Table:         table,
		Resolver:      inject.NewResolver(sources(c, h, pushed)),
		Audit:         h.audit,
		Dialer:        newDialer(c, h),
		Log:           log,
		Roots:         h.roots,
		DeniedPorts:   c.Upstream.DeniedPorts,
		OpaqueConnect: c.Upstream.OpaqueConnect,
		Timeouts: edge.Timeouts{
			Header:         c.Timeouts.Header,
			Handshake:      c.Timeouts.Handshake,
			Dial:           c.Timeouts.Dial,
			ResponseHeader: c.Timeouts.ResponseHeader,
			Idle:           c.Timeouts.Idle,
		},
	})
	if err != nil {
		return nil, err
	}
	d := &daemon{held: h, log: log, edge: e, static: &static{table: table, key: key}}
	if err := d.static.apply(c); err != nil {
		return nil, err
	}
	if h.control != nil {
		d.control = control.NewServer(control.Options{
			Table: table, Key: key, Fronts: e, Secrets: pushed,
			CA: string(h.authority.CertificatePEM()), Log: log, Problem: d.problem,
		})
	}
	return d, nil
}

// sources are the kinds of secret that bindings may name.
func sources(c *config.Config, h *held, pushed *memory.Source) map[string]secret.Source {
	all := map[string]secret.Source{
		"env": env.Source{},
		// Whoever may open boundaries chooses what is read, but not the CA key or
		// the store's, nor what the kernel shows of this process.
		"file":   file.Source{Deny: []string{c.State, "/proc"}},
		"memory": pushed,
	}
	if !h.ephemeral {
		all["store"] = store.New(c.State)
	}
	return all
}

func newDialer(c *config.Config, h *held) *guard.Dialer {
	d := &guard.Dialer{
		AllowCIDRs: c.Upstream.AllowCIDRs,
		Pins:       c.Upstream.Resolve,
		Timeout:    c.Timeouts.Dial,
	}
	if h.proxy != nil {
		d.Own = []netip.AddrPort{h.proxy.Addr().(*net.TCPAddr).AddrPort()}
	}
	return d
}

// serve blocks until ctx is done and everything has stopped, or has had
// stopWithin to do so.
func (d *daemon) serve(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	if d.held.proxy != nil {
		g.Go(func() error { return d.edge.ServeProxy(ctx, d.held.proxy, "") })
	}
	if d.control != nil {
		g.Go(func() error { return d.control.Serve(ctx, d.held.control) })
	}
	g.Go(func() error { return d.reloadOnHangup(ctx) })

	stopped := make(chan error, 1)
	go func() { stopped <- g.Wait() }()
	<-ctx.Done()
	select {
	case err := <-stopped:
		return err
	case <-time.After(stopWithin):
		return fmt.Errorf("stop: connections are still served after %v", stopWithin)
	}
}

// reloadOnHangup reloads at every SIGHUP until ctx is done.
func (d *daemon) reloadOnHangup(ctx context.Context) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hangup:
			d.reload()
		}
	}
}

// reload reads the configuration again and puts its static boundaries in
// force, or says that it can't and changes nothing (decision 27).
func (d *daemon) reload() {
	c, err := config.Load(d.path)
	if err == nil {
		err = d.static.apply(c)
	}
	if err != nil {
		d.log.Error("reload refused: the last good configuration stays in force", "error", err)
	} else {
		d.log.Info("reloaded", "boundaries", len(c.Boundaries))
	}
	auditErr := d.held.audit.Reopen()
	if auditErr != nil {
		d.log.Error("audit file not reopened", "error", auditErr)
	}
	d.static.note(errors.Join(err, auditErr))
}

// problem is what the health check reports.
func (d *daemon) problem() string {
	if err := errors.Join(d.static.fault(), d.held.audit.Err()); err != nil {
		return err.Error()
	}
	return ""
}
