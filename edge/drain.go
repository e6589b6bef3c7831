package edge

import (
	"context"
	"net"
	"sync"
	"time"
)

// drainPoll is how often a draining edge looks whether it is done.
const drainPoll = 20 * time.Millisecond

// doors are the listeners that the edge accepts from, until it drains.
type doors struct {
	mu       sync.Mutex // guards what follows
	open     map[net.Listener]struct{}
	draining chan struct{} // closed by drain
}

func newDoors() *doors {
	return &doors{open: map[net.Listener]struct{}{}, draining: make(chan struct{})}
}

func (d *doors) isDraining() bool {
	select {
	case <-d.draining:
		return true
	default:
		return false
	}
}

// add notes a listener, or closes it if the edge is draining.
func (d *doors) add(ln net.Listener) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isDraining() {
		ln.Close()
		return
	}
	d.open[ln] = struct{}{}
}

func (d *doors) remove(ln net.Listener) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, ln)
}

// drain closes every listener; a second call does nothing.
func (d *doors) drain() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isDraining() {
		return
	}
	close(d.draining)
	for ln := range d.open {
		ln.Close()
	}
}

// Drain lets no connection in any more and waits until no crossing is under
// way or ctx is done (ledger ED-29). Connections that are open already go on,
// each answer asking its client to close; DNS is still answered. The Serve
// methods return when their own contexts are done, as always. An Edge that has
// drained serves nothing again.
func (e *Edge) Drain(ctx context.Context) error {
	e.doors.drain()
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	for e.Stats().Crossings > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

// Stats says what an Edge is busy with.
type Stats struct {
	Tunnels   int // open
	Crossings int // under way
}

// Stats returns the present numbers.
func (e *Edge) Stats() Stats {
	e.lanes.mu.Lock()
	tunnels := e.lanes.tunnels
	e.lanes.mu.Unlock()
	return Stats{Tunnels: tunnels, Crossings: int(e.crossings.Load())}
}
