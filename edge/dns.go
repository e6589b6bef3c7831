package edge

import (
	"context"
	"net"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/names"
	"github.com/sallyport/sallyport/policy"
)

const portDNS = 53

// ServeDNS answers the queries that arrive on pc for the boundary named
// boundaryID until ctx is done or pc is closed, and closes it. It returns nil
// on a clean stop. The addresses that were given out are forgotten if the
// boundary has left the table by then. DNS over TCP is served by
// [Edge.ServeTransparent].
func (e *Edge) ServeDNS(ctx context.Context, pc *net.UDPConn, boundaryID string) error {
	e.lanes.enter()
	defer e.lanes.leave()
	defer func() {
		pc.Close()
		if e.opts.Table.Get(boundaryID) == nil {
			e.opts.Names.Forget(boundaryID)
		}
	}()
	return e.resolver(boundaryID).ServeUDP(ctx, pc)
}

// resolver returns the DNS of one boundary. Like every request, each query is
// judged by the policy that is in force when it comes.
func (e *Edge) resolver(boundaryID string) *names.Server {
	return names.New(names.Config{
		Boundary: boundaryID,
		Decide:   func(h policy.Host) policy.Decision { return e.gate.decide(boundaryID, h) },
		Inspect:  func(name string) error { return e.gate.inspectName(boundaryID, name) },
		Allow:    func() bool { return e.gate.resolves(boundaryID) },
		Pool:     e.opts.Names,
		Audit:    labelling{e.gate, e.opts.Audit},
	})
}

// labelling completes the records of queries, whose writer knows no boundary
// but by name.
type labelling struct {
	gate *Gate
	sink audit.Sink
}

func (l labelling) Record(r audit.Record) {
	if b := l.gate.table.Get(r.Boundary); b != nil {
		r.Labels = b.Labels
	}
	l.sink.Record(r)
}
