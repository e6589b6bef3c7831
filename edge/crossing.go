package edge

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/edge/wire"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/policy"
)

// errWithdrawn is the cause of a crossing that ended because its boundary
// closed or its policy no longer allows the host (decision 27).
var errWithdrawn = errors.New("policy no longer allows this crossing")

// crossing is one request, tunnel or refused CONNECT on its way. It ends in
// exactly one audit record.
type crossing struct {
	edge     *Edge
	flow     *flow
	boundary *boundary.Boundary // as of the last admission; nil before
	lane     *lane              // nil before it goes on, as the two below
	slowUp   func(n int) error  // waits until n bytes may have gone up
	slowDown func(n int) error  // the same for bytes that come down
	source   wire.Waiter        // the upstream's body, if it says when it waits
	host     policy.Host
	port     uint16
	upgrade  bool // the client asks for a WebSocket
	atHand   bool // over HTTP/1, and all of it has arrived
	// injection is what was written into the request, and watches its body;
	// misuse is what was found in a head that was refused.
	injection inject.Injection
	misuse    []inject.Find
	git       *gitCrossing // nil: it has nothing to do with git
	unseen    bool         // its bytes pass as they are, so no binding may come to be there
	// abandoned: the client went away before there was an answer, so what it
	// would have been told is nobody's verdict.
	abandoned bool

	cancel   context.CancelCauseFunc
	cause    func() error // why the crossing's context has ended
	start    time.Time
	up, down atomic.Int64
	upErr    atomic.Pointer[error] // why the client's body couldn't be read

	ending sync.Once
	mu     sync.Mutex   // guards what transports note while finish may run
	rec    audit.Record // denies until the gate says otherwise
}

// begin opens a crossing and returns its context, which ends with it, or when
// its policy is withdrawn.
func (e *Edge) begin(ctx context.Context, f *flow, protocol string) (*crossing, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	now := time.Now()
	c := &crossing{edge: e, flow: f, cancel: cancel, start: now}
	c.cause = func() error { return context.Cause(ctx) }
	c.rec = audit.Record{
		Time: now, Boundary: f.boundary, RequestID: rand.Text(),
		Mode: f.mode, Protocol: protocol, Scheme: f.scheme,
		Verdict: audit.VerdictDeny, Rule: policy.DefaultRule,
	}
	if !f.host.IsZero() {
		c.rec.Host = f.host.String()
	}
	c.rec.Port = f.port
	return c, ctx
}

// beginRequest opens the crossing of one request.
func (e *Edge) beginRequest(f *flow, r *http.Request) (*crossing, context.Context) {
	protocol := protocolHTTP1
	if r.ProtoMajor == 2 {
		protocol = protocolHTTP2
	}
	c, ctx := e.begin(r.Context(), f, protocol)
	c.rec.Method, c.rec.Path = r.Method, r.URL.EscapedPath()
	return c, ctx
}

// refuse notes a refusal and completes it with what the sandbox may see.
func (c *crossing) refuse(r *refusal.Refusal) *refusal.Refusal {
	r.RequestID = c.rec.RequestID
	c.rec.Reason, c.rec.Severity = string(r.Code), r.Code.Severity()
	c.rec.Detail, c.rec.Status = r.Detail, r.Status()
	if !isFault(r.Code) {
		c.rec.Verdict = audit.VerdictDeny
	}
	if c.rec.Host == "" {
		c.rec.Host = r.Host
	}
	return r
}

// hangUp notes a refusal that nobody is told: the connection just closes.
func (c *crossing) hangUp(r *refusal.Refusal) {
	_ = c.refuse(r)
	c.rec.Status = 0
}

// isFault reports whether a code says that something failed upstream, not that
// the crossing was denied.
func isFault(code refusal.Code) bool {
	return code == refusal.UpstreamDialError || code == refusal.UpstreamTLSError ||
		code == refusal.UpstreamTimeout || code == refusal.UpstreamProtocol
}

// dialled notes the address that a connection leads to.
func (c *crossing) dialled(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rec.Address = address
}

// admitted watches over a crossing that goes on, in its boundary's lane: if its
// policy is withdrawn, its context ends.
func (c *crossing) admitted(ctx context.Context) {
	c.lane = c.edge.lanes.of(c.boundary)
	c.slowUp = func(n int) error { return c.pay(ctx, c.lane.allowance.up, n) }
	c.slowDown = func(n int) error { return c.pay(ctx, c.lane.allowance.down, n) }
	c.lane.enter()
	c.edge.crossings.Add(1)
	c.flow.front.live.add(c)
}

// beforeWait has flush called before more of the upstream's body is waited for,
// or reports false if that can't be told.
func (c *crossing) beforeWait(flush func()) bool {
	if c.source == nil || c.lane.allowance.down.Limit() != rate.Inf {
		return false // a body that is slowed down also waits elsewhere
	}
	c.source.BeforeWait(flush)
	return true
}

// finish ends the crossing and writes its record. err, if any, is why it ended
// early; only the first call counts.
func (c *crossing) finish(err error) {
	c.ending.Do(func() {
		c.flow.front.live.remove(c)
		if cause := c.cause(); errors.Is(cause, errWithdrawn) {
			c.rec.Verdict, c.rec.Reason = audit.VerdictDeny, string(refusal.NetworkPolicyDenied)
			err = cause
		}
		if spent := c.overspent(); spent != nil {
			err = spent
			status := c.rec.Status // of an answer that broke off
			_ = c.refuse(c.applyRefusal(spent))
			c.rec.Status = cmp.Or(status, c.rec.Status)
		}
		c.cancel(nil)
		if c.lane != nil {
			c.lane.leave()
			c.edge.crossings.Add(-1)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil && c.rec.Detail == "" {
			c.rec.Detail = err.Error()
		}
		if c.abandoned {
			c.rec.Reason, c.rec.Severity, c.rec.Status = string(policy.ReasonAllowed), "", 0
		}
		c.recordFinds()
		c.rec.BytesUp, c.rec.BytesDown = c.up.Load(), c.down.Load()
		c.rec.DurationMS = time.Since(c.start).Milliseconds()
		c.edge.opts.Audit.Record(c.rec)
	})
}
