package edge

import (
	"context"
	"errors"
	"net/http"

	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/inject"
)

// finishRefusal says why a request couldn't be signed.
func (c *crossing) finishRefusal(err error) *refusal.Refusal {
	var large *inject.TooLargeError
	switch {
	case errors.As(err, &large):
		return &refusal.Refusal{Code: refusal.BodyTooLarge, Host: c.host.String(), Detail: err.Error()}
	case c.bodyRefusal() != nil, c.upErr.Load() != nil, c.cause() != nil:
		return upstreamRefusal(c, err)
	}
	return c.applyRefusal(err)
}

// send makes the round trip. Where the upstream takes a token for invalid that
// was had for a secret, another is asked for, and a request that may be
// repeated is sent once more.
func (c *crossing) send(ctx context.Context, out *http.Request, news *informer) (*http.Response, error) {
	resp, err := c.lane.upstream.roundTrip(ctx, c, out, news)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	again := out.Clone(ctx)
	if !c.injection.Renew(ctx, c.edge.opts.Resolver, again) || !repeatable(out) {
		return resp, nil
	}
	resp.Body.Close()
	return c.lane.upstream.roundTrip(ctx, c, again, news)
}

// repeatable reports whether a request changes nothing (RFC 9110 §9.2.1) and has
// no body, which would be gone.
func repeatable(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return r.Body == nil || r.Body == http.NoBody
	}
	return false
}
