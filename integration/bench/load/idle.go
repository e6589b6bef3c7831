package load

import (
	"sync"
	"time"
)

// settle is how long tunnels rest before memory is read.
const settle = 3 * time.Second

// rest opens tunnels, uses each once and lets them rest.
func (t *Target) rest(s Scenario) Result {
	r := &run{t: t, s: s}
	before, start := use(t.PID), time.Now()
	var wg sync.WaitGroup
	opened := make([][]*conn, s.Workers)
	for i := range s.Workers {
		wg.Go(func() {
			w := &worker{run: r, index: i, buf: make([]byte, 64<<10)}
			for n := i; n < s.Tunnels && r.errs.Load() < hopeless; n += s.Workers {
				c, err := w.open(s.name(n), "http/1.1", t.clientTLS(s, "http/1.1"))
				if err == nil {
					opened[i] = append(opened[i], c)
					_ = c.SetDeadline(time.Time{})
					err = w.ask(c, t.request(s, "GET", s.name(n), pathSmall, ""))
				}
				if err != nil {
					r.fail(err)
					continue
				}
				r.ops.Add(1)
			}
		})
	}
	wg.Wait()
	result := Result{Operations: r.ops.Load(), Errors: r.errs.Load(), Err: r.first}
	result.Rate = float64(result.Operations) / time.Since(start).Seconds()
	after := use(t.PID)
	time.Sleep(settle)
	resting := use(t.PID)
	for _, conns := range opened {
		for _, c := range conns {
			c.Close()
		}
	}
	if n := result.Operations; n > 0 {
		result.CPU = (after.cpu - before.cpu) / time.Duration(n)
		result.KiB = float64(resting.kib-before.kib) / float64(n)
	}
	return result
}
