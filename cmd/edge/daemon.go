package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/edge"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/edge/control"
	"github.com/sallyport/sallyport/edge/guard"
	"github.com/sallyport/sallyport/edge/metrics"
	"github.com/sallyport/sallyport/edge/trace"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/env"
	"github.com/sallyport/sallyport/inject/file"
	"github.com/sallyport/sallyport/inject/keyring"
	"github.com/sallyport/sallyport/inject/memory"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/store"
	"github.com/sallyport/sallyport/inject/vault"
)

const (
	// drainWithin is how long a stopping edge lets go on what is under way.
	drainWithin = 30 * time.Second
	// stopWithin is how long it then waits for everything to be closed.
	stopWithin = 10 * time.Second
	// revokeWithin is how much longer revoking git credentials may take.
	revokeWithin = 10 * time.Second
)

// daemon is a configured edge with its table.
type daemon struct {
	path    string // of the configuration, for reloading
	held    *held
	log     *slog.Logger
	edge    *edge.Edge
	broker  *broker.Broker
	control *control.Server // nil: none
	vault   *vault.Source   // nil: none
	static  *static
	metrics *metrics.Metrics
	tracer  *trace.Tracer // nil: none
	drain   time.Duration // how long what is under way may go on at the end
	ending  atomic.Bool
}

func newDaemon(c *config.Config, h *held, log *slog.Logger) (*daemon, error) {
	var key inject.Key
	if _, err := rand.Read(key[:]); err != nil {
		return nil, fmt.Errorf("make placeholder key: %w", err)
	}
	table := &boundary.Table{}
	pushed := memory.New()
	d := &daemon{held: h, log: log, drain: cmp.Or(c.Timeouts.Drain, drainWithin), static: &static{table: table, key: key}}
	d.metrics = metrics.New(metrics.Sources{
		Boundaries: table.Len,
		Tunnels:    func() int { return d.edge.Stats().Tunnels },
		Crossings:  func() int { return d.edge.Stats().Crossings },
		Leaves:     h.authority.Stats,
	})
	v, err := newVault(c, table)
	if err != nil {
		return nil, err
	}
	d.vault = v
	dialer := newDialer(c, h)
	resolver := newResolver(c, sources(c, h, pushed, v), issuerTransport(dialer, h, c.Upstream.Proxy))
	sink := d.metrics.Sink(h.audit)
	if d.tracer, err = newTracer(c, log); err != nil {
		return nil, err
	}
	if d.tracer != nil {
		sink = d.tracer.Sink(sink)
	}
	if d.broker, err = newBroker(c, h, table, resolver, dialer, sink, log); err != nil {
		return nil, err
	}
	d.edge, err = edge.New(edge.Options{
		Authority:     h.authority,
		Table:         table,
		Resolver:      resolver,
		Audit:         sink,
		Dialer:        dialer,
		Broker:        d.broker,
		Log:           log,
		Roots:         h.roots,
		DeniedPorts:   c.Upstream.DeniedPorts,
		OpaqueConnect: c.Upstream.OpaqueConnect,
		Parent:        c.Upstream.Proxy,
		Limits:        c.Limits,
		MaxTunnels:    c.AllTunnels,

		NoIntercept:        c.NoIntercept,
		InterceptBoundOnly: c.InterceptBoundOnly,
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
	if err := d.static.apply(c); err != nil {
		return nil, err
	}
	if h.control != nil {
		d.control = control.NewServer(control.Options{
			Table: table, Key: key, Fronts: d.edge, Secrets: pushed, Check: c.CheckBindings,
			Keyring: newKeyring(c, h),
			CA:      string(h.authority.CertificatePEM()), Log: log, Problem: d.problem,
		})
	}
	return d, nil
}

// newKeyring returns what keeps the product's credentials, in the store that
// bindings name "store"; nil where there is none.
func newKeyring(c *config.Config, h *held) *keyring.Keyring {
	if h.ephemeral {
		return nil
	}
	return keyring.New(c.State, store.New(c.State))
}

// sources are the kinds of secret that bindings may name.
func sources(c *config.Config, h *held, pushed *memory.Source, v *vault.Source) map[string]secret.Source {
	all := map[string]secret.Source{
		"env":    env.Source{},
		"file":   file.Source{Deny: ownFiles(c)},
		"memory": pushed,
	}
	if !h.ephemeral {
		all["store"] = store.New(c.State)
	}
	if v != nil {
		all["vault"] = v
	}
	return all
}

func newDialer(c *config.Config, h *held) *guard.Dialer {
	d := &guard.Dialer{
		AllowCIDRs: c.Upstream.AllowCIDRs,
		Pins:       c.Upstream.Resolve,
		Timeout:    c.Timeouts.Dial,
	}
	for _, ln := range []*net.TCPListener{h.proxy, h.metrics} {
		if ln != nil {
			d.Own = append(d.Own, ln.Addr().(*net.TCPAddr).AddrPort())
		}
	}
	return d
}

// serve blocks until ctx is done and everything has stopped: what is under way
// may go on for a while, and is then closed.
func (d *daemon) serve(ctx context.Context) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, serving := errgroup.WithContext(serving)
	if d.held.proxy != nil {
		g.Go(func() error { return d.edge.ServeProxy(serving, d.held.proxy, "") })
	}
	if d.control != nil {
		g.Go(func() error { return d.control.Serve(serving, d.held.control) })
	}
	if d.held.metrics != nil {
		g.Go(func() error { return d.serveMetrics(serving) })
	}
	if d.vault != nil {
		g.Go(func() error { return d.vault.Serve(serving, d.log) })
	}
	g.Go(func() error { return d.reloadOnHangup(serving) })

	stopped := make(chan error, 1)
	go func() {
		err := g.Wait()
		revoke, cancel := context.WithTimeout(context.WithoutCancel(ctx), revokeWithin)
		defer cancel()
		err = errors.Join(err, d.broker.Close(revoke))
		d.closeTracer(revoke)
		stopped <- err
	}()
	select {
	case <-ctx.Done():
		d.finish(ctx, serving)
	case <-serving.Done(): // one of them has failed
	}
	stop()
	select {
	case err := <-stopped:
		return err
	case <-time.After(stopWithin + revokeWithin):
		return fmt.Errorf("stop: connections are still served, or credentials not revoked, after %v", stopWithin+revokeWithin)
	}
}

// finish drains the edge, unless what it serves on fails first.
func (d *daemon) finish(ctx, serving context.Context) {
	d.ending.Store(true)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.drain)
	defer cancel()
	defer context.AfterFunc(serving, cancel)()
	left := d.edge.Stats()
	d.log.Info("stopping", "crossings", left.Crossings, "tunnels", left.Tunnels, "within", d.drain)
	if err := d.edge.Drain(ctx); err != nil {
		d.log.Warn("stopped with crossings under way", "crossings", d.edge.Stats().Crossings)
	}
}

// serveMetrics answers the operator's machines.
func (d *daemon) serveMetrics(ctx context.Context) error {
	server := &http.Server{
		Handler:           d.metrics.Handler(d.unready),
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(d.log.Handler(), slog.LevelWarn),
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(d.held.metrics); ctx.Err() == nil {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}

// unready says why no new work should come here, or "".
func (d *daemon) unready() string {
	if d.ending.Load() {
		return "stopping"
	}
	if err := d.held.audit.Err(); err != nil {
		return "the audit log can't be written"
	}
	return ""
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
