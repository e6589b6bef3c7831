package edge

import (
	"crypto/tls"
	"net/http"
	"sync/atomic"

	"github.com/elazarl/goproxy"
	"github.com/sallyport/sallyport/edge/wire"
)

// Edge serves the flows of every boundary in its table. It is safe for
// concurrent use.
type Edge struct {
	opts      Options
	gate      *Gate
	lanes     *lanes
	tls       *tls.Config
	proxy     *goproxy.ProxyHttpServer
	doors     *doors
	crossings atomic.Int64 // under way
}

// New returns an Edge. It does no I/O and starts nothing; call the Serve
// methods, each with a listener of its own. An error says which required
// option is missing.
func New(o Options) (*Edge, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	l := newLanes(o)
	e := &Edge{opts: o, gate: newGate(o, l), lanes: l, doors: newDoors()}
	e.tls = e.newTLSConfig()
	e.proxy = e.newProxy()
	return e, nil
}

// wireServer returns a server of HTTP/1 connections with h. onReject renders
// what no handler sees.
func (e *Edge) wireServer(h http.Handler, onReject func(http.ResponseWriter, *wire.Error)) *wire.Server {
	return &wire.Server{
		Handler: h,
		Reject: func(w http.ResponseWriter, _ *http.Request, err *wire.Error) {
			onReject(w, err)
		},
		HeadTimeout: e.opts.Timeouts.Header,
		Idle:        e.opts.Timeouts.Idle,
		Log:         e.opts.Log,
	}
}
