package wire

import (
	"context"
	"sync"
	"time"
)

// watchAfter is how long a request must have been under way before somebody
// looks whether the client is still there. Most are answered earlier, and cost
// no goroutine.
const watchAfter = 200 * time.Millisecond

// watch ends a request's context when its client goes away, so that a slow
// upstream isn't kept busy for nobody. It reads ahead by what the buffered
// reader takes, never consuming, and only once the body has been read.
//
// A client may have closed only its sending side (RFC 9112 §9.6), which can't
// be told from one that has left. It counts as gone over TLS, where clients do
// not half-close, and not in cleartext, where they do.
type watch struct {
	k      *conn
	cancel context.CancelFunc

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	done    chan struct{} // of the goroutine that reads ahead; nil if none
}

func newWatch(k *conn, cancel context.CancelFunc) *watch {
	return &watch{k: k, cancel: cancel}
}

// arm starts watching after a while. It is called once the body has been read.
func (w *watch) arm() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped && w.timer == nil {
		w.timer = time.AfterFunc(watchAfter, w.run)
	}
}

func (w *watch) run() {
	w.mu.Lock()
	if w.stopped {
		w.mu.Unlock()
		return
	}
	done := make(chan struct{})
	w.done = done
	w.mu.Unlock()
	defer close(done)
	_, err := w.k.br.Peek(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && !w.stopped && !w.halfClosed(err) {
		w.cancel()
	}
}

// stop ends the watch and gives the reader back to its owner.
func (w *watch) stop() {
	if w == nil {
		return
	}
	w.mu.Lock()
	if w.stopped {
		w.mu.Unlock()
		return
	}
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
	done := w.done
	w.mu.Unlock()
	if done == nil {
		return
	}
	_ = w.k.nc.SetReadDeadline(past)
	<-done
	_ = w.k.nc.SetReadDeadline(time.Time{})
}
