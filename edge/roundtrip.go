package edge

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/edge/wire"
	"github.com/sallyport/sallyport/policy"
)

// roundTrip sends a request that the gate let through. Redirects come back as
// they are.
//
// Ordinary requests of HTTP/1 clients go over connections of our own, without a
// goroutine in between. Everything else, and whatever turns out not to speak
// HTTP/1.1, goes over net/http's.
func (u *upstream) roundTrip(ctx context.Context, c *crossing, out *http.Request, news *informer) (*http.Response, error) {
	by := u.by(c.injection.Certificate)
	if u.ordinary(c, out) {
		resp, err := by.origins.RoundTrip(out, news)
		if !u.isForeign(err) {
			out.Body.Close()
			return resp, err
		}
		u.remember(out.URL.Host)
		if errors.Is(err, wire.ErrUnanswered) && !wire.Repeatable(out) {
			out.Body.Close()
			return nil, err
		}
	}
	out = out.WithContext(c.trace(ctx, news))
	if c.upgrade {
		return by.upgrades.RoundTrip(out)
	}
	return by.pooled.RoundTrip(out)
}

// ordinary reports whether [wire.Origins] can send a request.
func (u *upstream) ordinary(c *crossing, out *http.Request) bool {
	switch {
	case !c.atHand, c.upgrade, out.Close, u.parent != nil,
		len(out.Trailer) > 0, len(out.Header["Expect"]) > 0, out.ContentLength < 0:
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	until, found := u.foreign[out.URL.Host]
	return !found || time.Now().After(until)
}

const (
	// foreignFor is how long an origin counts as one without HTTP/1.1; it may
	// just have been restarting.
	foreignFor = 10 * time.Minute
	maxForeign = 256
)

// isForeign reports whether an error means that an origin doesn't speak
// HTTP/1.1: it said so in the handshake, or hung up on a request.
func (u *upstream) isForeign(err error) bool {
	return err != nil && (errors.Is(err, wire.ErrUnanswered) || errors.Is(err, errNoProtocol))
}

func (u *upstream) remember(address string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.foreign == nil || len(u.foreign) >= maxForeign {
		u.foreign = map[string]time.Time{}
	}
	u.foreign[address] = time.Now().Add(foreignFor)
}

// newOrigins returns the connections for ordinary requests.
func (u *upstream) newOrigins(base *tls.Config) *wire.Origins {
	cfg := base.Clone()
	cfg.NextProtos = []string{"http/1.1"}
	return &wire.Origins{
		Dial: func(ctx context.Context, scheme, address string) (net.Conn, error) {
			return u.dialOrigin(ctx, scheme, address, cfg)
		},
		HeadTimeout: u.timeouts.ResponseHeader,
		Idle:        u.timeouts.Idle,
		MaxHead:     maxResponseHead,
		KeepFor:     idleTime,
		KeepPerHost: idlePerHost,
		KeepInAll:   idleInAll,
	}
}

// errNoProtocol is an origin that wants another protocol than HTTP/1.1.
var errNoProtocol = errors.New("origin has no HTTP/1.1")

// dialOrigin connects for [wire.Origins], which minds the time by itself. An
// error is a *fault or errNoProtocol.
func (u *upstream) dialOrigin(ctx context.Context, scheme, address string, cfg *tls.Config) (net.Conn, error) {
	host, port, err := policy.CanonicalAuthority(address, 0)
	if err != nil {
		return nil, &fault{code: refusal.BadHost, err: err}
	}
	raw, err := u.connect(ctx, host, port)
	if err != nil {
		return nil, err
	}
	conn, err := u.keep(raw)
	if err != nil || scheme != schemeHTTPS {
		return conn, err
	}
	secured, err := u.secure(ctx, conn, host, cfg)
	if isNoProtocol(err) {
		return nil, errNoProtocol
	}
	return secured, err
}

// isNoProtocol reports whether a handshake ended with the alert
// no_application_protocol (RFC 7301 §3.2), whose type crypto/tls doesn't export.
func isNoProtocol(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error" && op.Err.Error() == "tls: no application protocol"
}
