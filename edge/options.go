package edge

import (
	"cmp"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/guard"
	"github.com/sallyport/sallyport/edge/names"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/policy"
)

// Options is what an Edge stands on. Authority, Table, Resolver, Audit and
// Dialer are required.
type Options struct {
	Authority *certs.Authority // signs the leaves that clients see
	Table     *boundary.Table  // who may cross, and where to
	Resolver  *inject.Resolver // reads secrets
	Audit     audit.Sink       // receives one record per crossing
	Dialer    *guard.Dialer    // makes every connection that leaves

	// Broker mints git credentials; nil means that there are none to be had.
	Broker *broker.Broker
	// Names holds the synthetic addresses that DNS gives out; nil means a Pool
	// of the Edge's own.
	Names *names.Pool
	// Log receives what operators should know; nil discards it.
	Log *slog.Logger
	// Roots verify upstream certificates; nil means the system's.
	Roots *x509.CertPool
	// DeniedPorts can't be reached on any host; nil means 25 (decision 4).
	DeniedPorts []uint16
	// OpaqueConnect lets protocols that are neither TLS nor HTTP through to
	// allowed hosts without a binding, on ports other than 443 (ledger ED-20).
	OpaqueConnect bool
	// NoIntercept allows hosts whose TLS passes as it is, for clients that pin
	// certificates (ledger ED-19); nil means none. What has a binding there is
	// intercepted all the same: whoever opens boundaries must refuse that.
	NoIntercept *policy.Policy
	// InterceptBoundOnly lets the TLS of every host that a boundary has no
	// binding for pass as it is. Requests there are not seen: neither their
	// names nor placeholders that don't belong in them.
	InterceptBoundOnly bool
	// Parent is a proxy through which every connection leaves, but for those to
	// pinned destinations: http or https, with host, port and, if it wants
	// them, credentials. It resolves the names, so of addresses only those that
	// a sandbox typed are judged here. nil means none.
	Parent *url.URL
	// Limits are those of boundaries that have none of their own; zero is no
	// limit.
	Limits boundary.Limits
	// MaxTunnels bounds the open tunnels of all boundaries, and so the memory
	// and descriptors that they take; 0 means 20,000. Beyond it, and for a
	// boundary with more than its share shortly before, the answer is
	// edge_overloaded.
	MaxTunnels int
	// Timeouts are the defaults where zero.
	Timeouts Timeouts
}

// Timeouts bound every wait; data that flows has no total (decision 28).
type Timeouts struct {
	Header         time.Duration // first to last byte of a request head; 0 means 30 s
	Handshake      time.Duration // TLS, on either side; 0 means 10 s
	Dial           time.Duration // name resolution included; 0 means 10 s
	ResponseHeader time.Duration // sent request to response head; 0 means 10 min
	Idle           time.Duration // no byte in either direction; 0 means 15 min
	// ServerFirst is how long the first byte of a client is awaited before its
	// server may speak first; 0 means 1 s.
	ServerFirst time.Duration
}

const (
	smtpPort       = 25
	defaultTunnels = 20_000
)

func (t Timeouts) withDefaults() Timeouts {
	t.Header = cmp.Or(t.Header, 30*time.Second)
	t.Handshake = cmp.Or(t.Handshake, 10*time.Second)
	t.Dial = cmp.Or(t.Dial, 10*time.Second)
	t.ResponseHeader = cmp.Or(t.ResponseHeader, 10*time.Minute)
	t.Idle = cmp.Or(t.Idle, 15*time.Minute)
	t.ServerFirst = cmp.Or(t.ServerFirst, time.Second)
	return t
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Authority == nil:
		return o, errors.New("make edge: no certificate authority")
	case o.Table == nil:
		return o, errors.New("make edge: no boundary table")
	case o.Resolver == nil:
		return o, errors.New("make edge: no secret resolver")
	case o.Audit == nil:
		return o, errors.New("make edge: no audit sink")
	case o.Dialer == nil:
		return o, errors.New("make edge: no dialer")
	}
	if o.Parent != nil {
		if err := checkParent(o.Parent); err != nil {
			return o, err
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Names == nil {
		o.Names = &names.Pool{}
	}
	if o.DeniedPorts == nil {
		o.DeniedPorts = []uint16{smtpPort}
	}
	o.MaxTunnels = cmp.Or(o.MaxTunnels, defaultTunnels)
	o.Timeouts = o.Timeouts.withDefaults()
	return o, nil
}
