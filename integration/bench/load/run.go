package load

import (
	"sync"
	"sync/atomic"
	"time"
)

// run is one scenario on its way. Workers count into it.
type run struct {
	t         *Target
	s         Scenario
	done      atomic.Bool
	measuring atomic.Bool
	ops, errs atomic.Int64

	mu    sync.Mutex // guards what follows
	first error
	all   histogram
}

// Run does s until bounds are reached.
func (t *Target) Run(s Scenario, b Bounds) Result {
	if s.Kind == Idle {
		return t.rest(s)
	}
	r := &run{t: t, s: s}
	var wg sync.WaitGroup
	for i := range s.Workers {
		wg.Go(func() { r.work(i) })
	}
	r.wait(b.Warm, min(b.Operations, int64(2*s.Workers)))
	r.measuring.Store(true)
	before, ops, start := use(t.PID), r.ops.Load(), time.Now()
	r.wait(b.Measure, b.Operations)
	took, counted, after := time.Since(start), r.ops.Load()-ops, use(t.PID)
	r.done.Store(true)
	wg.Wait()

	result := Result{Operations: counted, Errors: r.errs.Load(), Err: r.first}
	result.Rate = float64(counted) / took.Seconds()
	result.P50, result.P99 = r.all.quantile(.5), r.all.quantile(.99)
	if counted > 0 {
		result.CPU = (after.cpu - before.cpu) / time.Duration(counted)
	}
	return result
}

// hopeless is how many errors end a run.
const hopeless = 100

// wait returns after d and n more operations, or when there is no hope.
func (r *run) wait(d time.Duration, n int64) {
	until, target := time.Now().Add(d), r.ops.Load()+n
	for r.errs.Load() < hopeless {
		left := time.Until(until)
		if left <= 0 && r.ops.Load() >= target {
			return
		}
		time.Sleep(max(min(left, 20*time.Millisecond), time.Millisecond))
	}
}

// work is one worker.
func (r *run) work(i int) {
	w := &worker{run: r, index: i, buf: make([]byte, 64<<10)}
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all.merge(&w.times)
	}()
	for !r.done.Load() && r.errs.Load() < hopeless {
		var err error
		switch r.s.Kind {
		case Fresh:
			err = w.fresh()
		case Streams:
			err = w.streams()
		case Down, Up:
			err = w.bulk()
		case Plain, KeepAlive, Idle:
			err = w.keepAlive()
		}
		if err != nil {
			r.fail(err)
		}
	}
}

func (r *run) fail(err error) {
	r.errs.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == nil {
		r.first = err
	}
}

// worker is one connection at a time.
type worker struct {
	*run
	index int // grows by the number of workers where each has a name of its own
	buf   []byte
	times histogram
}

// took counts an operation.
func (w *worker) took(start time.Time) {
	w.ops.Add(1)
	if w.measuring.Load() {
		w.times.add(time.Since(start))
	}
}
