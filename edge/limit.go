package edge

import (
	"context"
	"errors"
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/refusal"
)

// allowance is what one boundary may still take. All of it is of the last
// limits that were adopted.
type allowance struct {
	requests, dns *rate.Limiter
	up, down      *rate.Limiter
}

func newAllowance() *allowance {
	none := func() *rate.Limiter { return rate.NewLimiter(rate.Inf, 0) }
	return &allowance{requests: none(), dns: none(), up: none(), down: none()}
}

// adopt puts l in force. What has been used of the old limits stays used.
func (a *allowance) adopt(l boundary.Limits) {
	for _, one := range []struct {
		limiter *rate.Limiter
		limit   int
	}{
		{a.requests, l.RequestsPerSecond}, {a.dns, l.DNSQueriesPerSecond},
		{a.up, l.UploadBytesPerSecond}, {a.down, l.DownloadBytesPerSecond},
	} {
		if one.limit == 0 {
			one.limiter.SetLimit(rate.Inf)
			continue
		}
		one.limiter.SetBurst(one.limit)
		one.limiter.SetLimit(rate.Limit(one.limit))
	}
}

// request takes one request, or says when there is another.
func (a *allowance) request() *refusal.Refusal {
	if a.requests.Allow() {
		return nil
	}
	wait := 1.0
	if perSecond := float64(a.requests.Limit()); perSecond > 0 {
		wait = (1 - a.requests.Tokens()) / perSecond
	}
	return &refusal.Refusal{
		Code: refusal.RateLimited, Detail: "requests per second",
		RetryAfterSeconds: max(1, int(math.Ceil(wait))),
	}
}

// throttle waits until n bytes may have passed. A piece larger than a second's
// worth takes as many seconds.
func throttle(ctx context.Context, l *rate.Limiter, n int) error {
	for n > 0 && l.Limit() != rate.Inf {
		take := min(n, max(l.Burst(), 1))
		r := l.ReserveN(time.Now(), take)
		if !r.OK() { // the burst has just become smaller
			continue
		}
		if delay := r.Delay(); delay > 0 {
			timer := time.NewTimer(delay)
			select {
			case <-ctx.Done():
				timer.Stop()
				return context.Cause(ctx)
			case <-timer.C:
			}
		}
		n -= take
	}
	return nil
}

// errTunnels and errSaturated say why no tunnel can be opened.
var (
	errTunnels   = errors.New("tunnels at a time")
	errSaturated = errors.New("tunnels of all boundaries")
)

// openTunnel takes one of b's tunnels, which release gives back. Once the edge
// has little left, only those boundaries get any that hold less than their
// share of all, so that one which takes what it can leaves enough to the rest.
func (l *lanes) openTunnel(b *boundary.Boundary) (release func(), refused *refusal.Refusal) {
	lane := l.of(b)
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	code := refusal.EdgeOverloaded
	switch share := l.opts.MaxTunnels / max(len(l.byClosed), 1); {
	case lane.maxTunnels > 0 && lane.tunnels >= lane.maxTunnels:
		code, err = refusal.RateLimited, errTunnels
	case l.tunnels >= l.opts.MaxTunnels,
		l.tunnels >= l.opts.MaxTunnels-l.opts.MaxTunnels/4 && lane.tunnels >= share:
		err = errSaturated
	}
	if err != nil {
		return nil, &refusal.Refusal{Code: code, Detail: err.Error()}
	}
	lane.tunnels++
	l.tunnels++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		lane.tunnels--
		l.tunnels--
	}, nil
}
