package edge

import (
	"sync"

	"github.com/sallyport/sallyport/edge/boundary"
)

// live holds the crossings under way on one front, by the boundary that
// admitted them. When a boundary is replaced or closes, each is judged again,
// and those that are denied now end at once (decision 27).
type live struct {
	gate *Gate
	stop chan struct{} // closed when the front ends

	mu     sync.Mutex
	groups map[*boundary.Boundary]map[*crossing]struct{}
	ended  bool
	wg     sync.WaitGroup // one goroutine per group
}

func newLive(g *Gate) *live {
	return &live{gate: g, stop: make(chan struct{}), groups: map[*boundary.Boundary]map[*crossing]struct{}{}}
}

func (l *live) add(c *crossing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		c.cancel(errWithdrawn)
		return
	}
	l.join(c)
}

// join puts c into its boundary's group. A boundary that was replaced before
// its first crossing joined is noticed at once: its channel is closed already.
func (l *live) join(c *crossing) {
	group := l.groups[c.boundary]
	if group == nil {
		group = map[*crossing]struct{}{}
		l.groups[c.boundary] = group
		l.wg.Add(1)
		go l.watch(c.boundary)
	}
	group[c] = struct{}{}
}

func (l *live) remove(c *crossing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.groups[c.boundary], c)
}

// watch waits until b is no longer in force, then judges its crossings.
func (l *live) watch(b *boundary.Boundary) {
	defer l.wg.Done()
	select {
	case <-b.Replaced():
	case <-l.stop:
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	group := l.groups[b]
	delete(l.groups, b)
	current := l.gate.table.Get(b.ID)
	for c := range group {
		if !l.gate.still(c, current) {
			c.cancel(errWithdrawn)
			continue
		}
		c.boundary = current
		l.join(c)
	}
}

// end stops watching and waits for the watchers.
func (l *live) end() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	close(l.stop)
	l.wg.Wait()
}
