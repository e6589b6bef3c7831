package edge

import (
	"context"
	"errors"
	"net"
	"os"

	"github.com/sallyport/sallyport/edge/guard"
	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/edge/wire"
)

// fault is a failure on the way to an upstream, with the code that the sandbox
// is told. The cause is for the log only.
type fault struct {
	code refusal.Code
	err  error
}

func (f *fault) Error() string { return string(f.code) + ": " + f.err.Error() }

func (f *fault) Unwrap() error { return f.err }

func dialCode(err error) refusal.Code {
	var denied *guard.DeniedError
	switch {
	case errors.As(err, &denied):
		return refusal.PrivateAddress
	case isTimeout(err):
		return refusal.UpstreamTimeout
	}
	return refusal.UpstreamDialError
}

func handshakeCode(err error) refusal.Code {
	if isTimeout(err) {
		return refusal.UpstreamTimeout
	}
	return refusal.UpstreamTLSError
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &ne) && ne.Timeout()
}

// upstreamRefusal says what a failed round trip means for the sandbox.
func upstreamRefusal(c *crossing, err error) *refusal.Refusal {
	if refused := c.bodyRefusal(); refused != nil {
		return refused
	}
	if refused := c.pushRefusal(); refused != nil {
		return refused
	}
	r := &refusal.Refusal{Code: refusal.UpstreamProtocol, Host: c.host.String(), Detail: err.Error()}
	var f *fault
	switch {
	case c.overspent() != nil:
		return c.applyRefusal(c.overspent())
	case errors.Is(c.cause(), errWithdrawn):
		r.Code = refusal.NetworkPolicyDenied
	case c.badBody():
		r.Code, r.Detail = refusal.BadRequest, (*c.upErr.Load()).Error()
	case errors.Is(c.cause(), context.Canceled):
		c.abandoned = true
		r.Detail = "client went away"
	case errors.As(err, &f):
		r.Code = f.code
	case isTimeout(err):
		r.Code = refusal.UpstreamTimeout
	}
	return r
}

// badBody reports whether the client's own body was malformed.
func (c *crossing) badBody() bool {
	err := c.upErr.Load()
	var bad *wire.Error
	return err != nil && errors.As(*err, &bad)
}
