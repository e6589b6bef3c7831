package peer

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"os"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/edge"
	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/guard"
	"github.com/sallyport/sallyport/edge/metrics"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/integration/bench/load"
	"github.com/sallyport/sallyport/policy"
)

// Engine starts the edge's engine without the product around it, with audit log
// and metrics or without: what no configuration of the product offers.
func (w *World) Engine(observed bool) (*load.Target, error) {
	name, file := "unobserved", "-"
	if observed {
		name, file = "observed", w.path("engine.jsonl")
	}
	var at proxyReady
	pid, err := w.self(&at, "engine", w.base.Origin, w.path("mitm"), file)
	if err != nil {
		return nil, err
	}
	t := w.target(name, at.Addr, pid)
	t.Proof = "" // nothing is bound
	return t, nil
}

// serveEngine takes the origin, the folder of the CA and the audit file, or
// "-" for none.
func serveEngine(args []string) error {
	authority, err := certs.Open(args[1])
	if err != nil {
		return err
	}
	sink := audit.Sink(audit.SinkFunc(func(audit.Record) {}))
	table := &boundary.Table{}
	if args[2] != "-" {
		log, err := audit.Open(args[2])
		if err != nil {
			return err
		}
		none := func() int { return 0 }
		sink = metrics.New(metrics.Sources{Boundaries: table.Len, Tunnels: none, Crossings: none, Leaves: authority.Stats}).Sink(log)
	}
	b, err := boundary.Compile(boundary.Spec{ID: edgeBoundary, NetworkPolicy: edgePolicy(rules)}, inject.Key{})
	if err != nil {
		return err
	}
	table.Put(b)
	origin, err := netip.ParseAddrPort(args[0])
	if err != nil {
		return err
	}
	host, err := policy.CanonicalHost(load.Host)
	if err != nil {
		return err
	}
	roots, err := originRoots(args[1] + "/../origin.pem")
	if err != nil {
		return err
	}
	e, err := edge.New(edge.Options{
		Authority: authority, Table: table, Resolver: inject.NewResolver(nil), Audit: sink, Roots: roots,
		Dialer: &guard.Dialer{Pins: map[guard.HostPort]netip.AddrPort{{Host: host, Port: origin.Port()}: origin}},
	})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := ready(proxyReady{ln.Addr().String()}); err != nil {
		return err
	}
	return e.ServeProxy(context.Background(), ln, edgeBoundary)
}

// rules is how many an edge has where nothing else is said.
const rules = 200

var errNoCertificate = errors.New("no certificate in file")

func originRoots(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errNoCertificate
	}
	return roots, nil
}
