package edge

import (
	"sync"

	"github.com/sallyport/sallyport/edge/boundary"
)

// lane is what the edge keeps for one boundary from its opening to its closing,
// however often it is replaced: the connections that leave for it, and what it
// may still take. Two boundaries share nothing of it.
type lane struct {
	upstream  *upstream
	allowance *allowance

	// Guarded by the mutex of the lanes.
	generation uint64 // of the boundary whose limits are in force
	tunnels    int    // open
	maxTunnels int    // 0: no limit but the edge's

	mu       sync.Mutex    // guards what follows
	inUse    int           // crossings under way
	released chan struct{} // made by close if crossings are under way, closed by the last
}

// enter and leave frame a crossing.
func (l *lane) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inUse++
}

func (l *lane) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inUse--; l.inUse == 0 && l.released != nil {
		close(l.released)
		l.released = nil
	}
}

// close ends the lane's connections once its crossings, which are judged
// anew at the same time, have ended: they know best why.
func (l *lane) close() {
	l.mu.Lock()
	var wait chan struct{}
	if l.inUse > 0 {
		wait = make(chan struct{})
		l.released = wait
	}
	l.mu.Unlock()
	if wait != nil {
		<-wait
	}
	l.upstream.close()
}

// lanes holds the lane of each open boundary while at least one front serves.
type lanes struct {
	opts Options

	mu       sync.Mutex // guards what follows
	fronts   int
	tunnels  int                       // open, of all boundaries
	byClosed map[<-chan struct{}]*lane // by what tells one opening from the next
	stop     chan struct{}             // closed when the last front has ended
	watching *sync.WaitGroup           // what ends by then
}

func newLanes(o Options) *lanes { return &lanes{opts: o, byClosed: map[<-chan struct{}]*lane{}} }

// of returns the lane of b, which is made when it is first needed.
func (l *lanes) of(b *boundary.Boundary) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := b.Closed()
	found := l.byClosed[key]
	if found == nil {
		found = &lane{upstream: newUpstream(l.opts), allowance: newAllowance()}
		l.byClosed[key] = found
		stop := l.stop
		l.watching.Go(func() {
			select {
			case <-key:
			case <-stop:
			}
			l.mu.Lock()
			if l.byClosed[key] == found {
				delete(l.byClosed, key)
			}
			l.mu.Unlock()
			found.close()
		})
	}
	if b.Generation > found.generation {
		limits := b.Limits.Or(l.opts.Limits)
		found.generation, found.maxTunnels = b.Generation, limits.Tunnels
		found.allowance.adopt(limits)
	}
	return found
}

// enter and leave frame the serving of a front. When the last has ended, so
// have all crossings, and nothing is kept.
func (l *lanes) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fronts++; l.fronts == 1 {
		l.stop, l.watching = make(chan struct{}), &sync.WaitGroup{}
	}
}

func (l *lanes) leave() {
	l.mu.Lock()
	l.fronts--
	last, watching := l.fronts == 0, l.watching
	if last {
		close(l.stop)
		clear(l.byClosed)
	}
	l.mu.Unlock()
	if last {
		watching.Wait()
	}
}
