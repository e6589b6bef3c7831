package edge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/gitwire"
	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/inject/scan"
	"github.com/sallyport/sallyport/inject/scrub"
	"github.com/sallyport/sallyport/policy"
)

// gitCrossing is what a request has to do with a repository that is granted:
// the credential that the edge puts into it, and the push that it is.
//
// Whatever mode a grant has, the sandbox holds nothing that can write. A request
// that needs to carries the placeholder, or the token to read that git was
// handed, and gets the credential for its own operation here. So a request that
// isn't recognised, by a path or form that some server may understand, isn't
// one that can push.
type gitCrossing struct {
	grant    broker.Granted
	endpoint gitwire.Endpoint // zero for a REST API
	access   broker.Access    // that the request needs
	stand    *stand           // what the credential takes the place of; nil: nothing

	push    *gitwire.Push // nil unless one was read
	body    io.Reader     // what is left of the request then
	reason  string        // why it was refused, in words for git
	reasons map[string]string
	stream  *pushBody // watches the pack; nil: nothing to watch

	token    []byte // that was put in
	scrubber *scan.Replacer
}

// git looks at a request to a host that the boundary has grants for, or to its
// REST API: it judges pushes, and takes off the credential that stands for
// another.
func (g *Gate) git(ctx context.Context, c *crossing, out *http.Request) *refusal.Refusal {
	grants := c.boundary.Git
	if g.broker == nil || len(grants.All()) == 0 || c.flow.scheme != schemeHTTPS || c.port != portHTTPS || c.rec.Verdict != audit.VerdictAllow {
		return nil
	}
	if !grants.Brokers(c.host) {
		return g.gitAPI(c, out)
	}
	path, query := out.URL.EscapedPath(), out.URL.RawQuery
	if e, ok := gitwire.ParseEndpoint(out.Method, path, query); ok {
		return g.gitEndpoint(ctx, c, out, e)
	}
	if gitwire.LooksLikePush(path, query) {
		return &refusal.Refusal{Code: refusal.PushRefused, Host: c.host.String(), Detail: "a push by another path or method than git's own"}
	}
	return g.gitAPI(c, out)
}

// gitEndpoint judges a request to git's own endpoints. Repositories that aren't
// granted may be fetched from, as the forge sees fit, and not pushed to.
func (g *Gate) gitEndpoint(ctx context.Context, c *crossing, out *http.Request, e gitwire.Endpoint) *refusal.Refusal {
	x := &gitCrossing{endpoint: e, access: broker.Read}
	grant, err := g.broker.Find(ctx, c.flow.boundary, c.host.String(), e.Repository)
	switch {
	case errors.Is(err, broker.ErrNotGranted) && e.Service != gitwire.Receive:
		return nil
	case err != nil:
		c.git = x
		refused := brokerRefusal(err)
		refused.Host = c.host.String()
		return refused
	}
	c.git, x.grant = x, grant
	if refused := x.needs(c, out); refused != nil {
		return refused
	}
	c.rec.Git = gitRecord(grant, x.access)
	if x.access == broker.Write && grant.Access != broker.Write {
		x.reason = "this sandbox may only read " + grant.Repository.String()
		return &refusal.Refusal{Code: refusal.PushRefused, Host: c.host.String(), Detail: x.reason}
	}
	x.stand, err = standIn(out.Header, func(password string) bool { return g.standsFor(c, x, password) })
	if err != nil {
		return &refusal.Refusal{Code: refusal.BadRequest, Host: c.host.String(), Detail: err.Error()}
	}
	if rules := c.boundary.Git.PushRules(grant); rules != nil && e.Service == gitwire.Receive && !e.Advertises {
		return x.judge(c, out, rules)
	}
	return nil
}

// standsFor reports whether a password is what the sandbox was handed for the
// grant and another has to take its place. A token to read needs none to read.
func (g *Gate) standsFor(c *crossing, x *gitCrossing, password string) bool {
	if x.grant.Auth == broker.AuthEdge {
		return password == c.boundary.Bindings.Placeholder(x.grant.TokenEnv)
	}
	return x.access == broker.Write && g.broker.Holds(c.flow.boundary, x.grant, []byte(password))
}

// needs finds out what access a request needs. An LFS batch says it in its
// body.
func (x *gitCrossing) needs(c *crossing, out *http.Request) *refusal.Refusal {
	switch {
	case x.endpoint.Service == gitwire.Receive:
		x.access = broker.Write
	case x.endpoint.Batch:
		return x.readBatch(c, out)
	case !x.endpoint.Reads && x.endpoint.Service == gitwire.LFS:
		x.access = x.grant.Access // locks, transfers: as far as the grant goes
	}
	return nil
}

func (x *gitCrossing) readBatch(c *crossing, out *http.Request) *refusal.Refusal {
	bad := &refusal.Refusal{Code: refusal.BadRequest, Host: c.host.String()}
	if len(out.Header["Content-Encoding"]) > 0 {
		bad.Detail = "LFS batch: a coded body"
		return bad
	}
	body, err := io.ReadAll(io.LimitReader(out.Body, gitwire.MaxBatch+1))
	if err == nil && len(body) > gitwire.MaxBatch {
		return &refusal.Refusal{Code: refusal.BodyTooLarge, Host: c.host.String(), Detail: "LFS batch"}
	}
	operation := ""
	if err == nil {
		operation, err = gitwire.ReadBatch(body)
	}
	if err != nil {
		bad.Detail = err.Error()
		return bad
	}
	if operation == "upload" {
		x.access = broker.Write
	}
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return nil
}

// authorize puts the credential in. Everything else about the request has been
// judged.
func (g *Gate) authorize(ctx context.Context, c *crossing, out *http.Request) *refusal.Refusal {
	x := c.git
	if x == nil || x.stand == nil {
		return nil
	}
	got, err := g.broker.Get(ctx, c.flow.boundary, x.grant.Host.String(), x.grant.Repository.String(), x.access)
	if err != nil {
		refused := brokerRefusal(err)
		refused.Host = c.host.String()
		return refused
	}
	x.token = got.Password.Reveal()
	x.stand.replace(out.Header, got.Username, string(x.token))
	x.scrubber = scan.NewReplacer(scan.Renderings(x.token, []byte(x.stand.value)))
	scrub.Prepare(out.Header)
	c.rec.Git = gitRecord(x.grant, x.access)
	c.rec.Git.TokenHash, c.rec.Git.Expires = broker.TokenHash(got.Password), got.Expires
	return nil
}

// turnedDown tells the broker of a credential that the forge doesn't accept.
func (g *Gate) turnedDown(c *crossing, status int) {
	if x := c.git; x != nil && x.token != nil && status == http.StatusUnauthorized {
		g.broker.Erase(c.flow.boundary, x.grant.Host.String(), x.grant.Repository.String(), hexDigest(x.token))
	}
}

// binds reports whether a boundary has anything for a destination that only an
// intercepted connection can be given: a secret, or credentials of git.
func (g *Gate) binds(b *boundary.Boundary, host policy.Host, port uint16) bool {
	if holds(b, host, port) {
		return true
	}
	if g.broker == nil || port != portHTTPS {
		return false
	}
	for _, grant := range b.Git.All() {
		if api, ok := g.broker.API(grant.Issuer); ok && grant.Auth == broker.AuthEdge && api.Host == host {
			return true
		}
	}
	return false
}

// holds is binds but for the APIs of forges.
func holds(b *boundary.Boundary, host policy.Host, port uint16) bool {
	return b.Bindings.Binds(host, port) || port == portHTTPS && b.Git.Brokers(host)
}
