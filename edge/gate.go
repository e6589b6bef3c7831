package edge

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/policy"
)

// Gate is the one choke point: nothing is dialled and no secret is looked up
// for a crossing that it hasn't let through. It asks the table anew each time,
// so a changed policy or a closed boundary counts from the next request on.
type Gate struct {
	table    *boundary.Table
	resolver *inject.Resolver
	broker   *broker.Broker // nil: no credentials of git
	denied   []uint16
	lanes    *lanes
}

func newGate(o Options, l *lanes) *Gate {
	return &Gate{table: o.Table, resolver: o.Resolver, broker: o.Broker, denied: slices.Clone(o.DeniedPorts), lanes: l}
}

// admit decides whether c may lead to host and port, and notes the verdict.
func (g *Gate) admit(c *crossing, host policy.Host, port uint16) *refusal.Refusal {
	c.host, c.port = host, port
	c.rec.Host, c.rec.Port = host.String(), port
	b := g.table.Get(c.flow.boundary)
	if b == nil {
		return &refusal.Refusal{Code: refusal.IdentityRequired, Host: host.String(), Detail: "no such boundary"}
	}
	c.boundary = b
	c.rec.Labels = b.Labels
	if g.portDenied(port) {
		return &refusal.Refusal{Code: refusal.PortDenied, Host: host.String()}
	}
	d := judge(b, host, port)
	c.rec.Rule, c.rec.Glob = d.Rule, d.Glob
	if d.Action != policy.Allow {
		return &refusal.Refusal{Code: refusal.NetworkPolicyDenied, Host: host.String()}
	}
	c.rec.Verdict, c.rec.Reason = audit.VerdictAllow, string(d.Reason)
	if d.Reason != policy.ReasonAllowed {
		c.rec.Verdict = audit.VerdictObserve
	}
	return nil
}

// judge is the policy's word; where a boundary is only observed, a denial
// becomes an Allow that keeps its Reason. A host with a binding stays denied:
// it takes a policy for a secret to leave.
func judge(b *boundary.Boundary, host policy.Host, port uint16) policy.Decision {
	d := b.Policy.Decide(host)
	if b.Observe && d.Reason == policy.ReasonDenied && !holds(b, host, port) {
		d.Action = policy.Allow
	}
	return d
}

// decide is the policy's word on a name, without a crossing. A boundary that
// isn't there denies.
func (g *Gate) decide(boundaryID string, host policy.Host) policy.Decision {
	b := g.table.Get(boundaryID)
	if b == nil {
		return policy.Decision{Rule: policy.DefaultRule, Reason: policy.ReasonDenied}
	}
	return judge(b, host, 0)
}

// inspectName looks for placeholders and secrets in a name that a sandbox asks
// for. It returns a *[inject.MisuseError] if there are any.
func (g *Gate) inspectName(boundaryID, name string) error {
	if b := g.table.Get(boundaryID); b != nil {
		return b.Bindings.CheckName(name)
	}
	return nil
}

func (g *Gate) portDenied(port uint16) bool { return slices.Contains(g.denied, port) }

// still reports whether a crossing under way would be admitted by b, which is
// nil once its boundary has closed.
func (g *Gate) still(c *crossing, b *boundary.Boundary) bool {
	return b != nil && judge(b, c.host, c.port).Action == policy.Allow &&
		(!c.unseen || !g.binds(b, c.host, c.port))
}

// pass takes a request through: its names agree, the policy allows, and its
// placeholders are swapped. It returns the request to send.
func (g *Gate) pass(ctx context.Context, c *crossing, r *http.Request) (*http.Request, *refusal.Refusal) {
	host, port, refused := c.flow.authority(r)
	if refused == nil {
		c.flow.settle(host, port)
		refused = g.admit(c, host, port)
	}
	if refused == nil {
		refused = checkMethod(r.Method)
	}
	if refused == nil {
		refused = g.take(c)
	}
	if refused != nil {
		_ = c.inspectHead(r) // it is refused already; what it holds is told
		return nil, refused
	}
	out := outgoing(ctx, r, c)
	if refused := g.git(ctx, c, out); refused != nil {
		return nil, refused
	}
	dest := inject.Destination{Scheme: c.flow.scheme, Host: host, Port: port}
	injection, err := c.boundary.Bindings.Apply(ctx, out, dest, g.resolver)
	if err != nil {
		return nil, c.applyRefusal(err)
	}
	c.injection = injection
	if refused := g.authorize(ctx, c, out); refused != nil {
		return nil, refused
	}
	injection.Prepare(out.Header)
	if c.upgrade && injection.Messages() != nil {
		delete(out.Header, "Sec-Websocket-Extensions") // compressed messages can't be looked through
	}
	out.Close = connectionBound(out.Header)
	restoreUpgrade(out, c)
	return out, nil
}

// take counts one request or opaque tunnel against its boundary's limits.
func (g *Gate) take(c *crossing) *refusal.Refusal {
	refused := g.lanes.of(c.boundary).allowance.request()
	if refused != nil {
		refused.Host = c.host.String()
	}
	return refused
}

// resolves counts one DNS query. A boundary that isn't there has no limits; it
// is refused for that.
func (g *Gate) resolves(boundaryID string) bool {
	b := g.table.Get(boundaryID)
	return b == nil || g.lanes.of(b).allowance.dns.Allow()
}

// checkMethod refuses tunnels in tunnels, and methods whose only purpose is to
// send a request's headers back, the injected ones included. Case counts in a
// method (RFC 9110 §9.1), but not to every origin.
func checkMethod(method string) *refusal.Refusal {
	switch strings.ToUpper(method) {
	case http.MethodConnect, http.MethodTrace, "TRACK", "PRI":
		return &refusal.Refusal{Code: refusal.ProtocolDenied, Detail: "method " + method}
	}
	return nil
}
