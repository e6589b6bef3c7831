package edge

import (
	"net/http"
	"slices"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/edge/refusal"
)

// gitAPI judges a request with a placeholder to the REST API of a forge: it
// passes if it is about one repository that is granted, within what is granted.
// What a grant's push rules are about can't be changed here, because they are
// written for git's own protocol.
func (g *Gate) gitAPI(c *crossing, out *http.Request) *refusal.Refusal {
	var candidates []broker.Granted
	var api broker.API
	stand, err := standIn(out.Header, func(password string) bool {
		for _, grant := range c.boundary.Git.All() {
			at, ok := g.broker.API(grant.Issuer)
			if ok && grant.Auth == broker.AuthEdge && at.Host == c.host && password == c.boundary.Bindings.Placeholder(grant.TokenEnv) {
				api = at
				candidates = append(candidates, grant)
			}
		}
		return len(candidates) > 0
	})
	switch {
	case err != nil:
		return &refusal.Refusal{Code: refusal.BadRequest, Host: c.host.String(), Detail: err.Error()}
	case stand == nil:
		return nil // a placeholder that doesn't belong here is found with all others
	}
	denied := &refusal.Refusal{Code: refusal.RepositoryNotGranted, Host: c.host.String(), Detail: "REST API: not about one granted repository"}
	call, ok := api.Parse(out.Method, out.URL.EscapedPath())
	i := slices.IndexFunc(candidates, func(g broker.Granted) bool { return g.Repository == call.Repository })
	if !ok || i < 0 || overridesMethod(out.Header) {
		return denied
	}
	grant := candidates[i]
	if call.Access == broker.Write && grant.Access != broker.Write {
		denied.Detail = "REST API: a change of what may only be read"
		return denied
	}
	if call.Contents && c.boundary.Git.PushRules(grant) != nil {
		denied.Detail = "REST API: a change that the push rules of the grant can't judge"
		return denied
	}
	c.git = &gitCrossing{grant: grant, access: call.Access, stand: stand}
	c.rec.Git = gitRecord(grant, call.Access)
	return nil
}

// overridesMethod reports whether a header may make a server take the request
// for one of another method.
func overridesMethod(h http.Header) bool {
	for _, name := range []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"} {
		if _, there := h[name]; there {
			return true
		}
	}
	return false
}
