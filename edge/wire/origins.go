package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Origins sends requests to origins over connections that it keeps. A request
// is written, and the head of its response read, on the caller's goroutine:
// there is no hand-off, and a connection at rest holds no goroutine and no
// buffer. Dial and the times are required. It is safe for concurrent use.
//
// It is for ordinary requests only: see [Origins.RoundTrip].
type Origins struct {
	// Dial connects to the origin at HOST:PORT for a scheme, TLS and its
	// verification included. What it returns speaks HTTP/1.1.
	Dial func(ctx context.Context, scheme, address string) (net.Conn, error)
	// HeadTimeout bounds the time from a sent request to the head of its
	// response, Idle any other wait for the next byte.
	HeadTimeout, Idle time.Duration
	// MaxHead bounds a head in bytes.
	MaxHead int
	// KeepFor is how long a connection rests before it is closed; KeepPerHost
	// and KeepInAll are how many may rest.
	KeepFor                time.Duration
	KeepPerHost, KeepInAll int

	mu      sync.Mutex // guards what follows
	idle    map[origin][]*originConn
	oldest  *originConn // of all that rest; a list in order of use
	newest  *originConn
	resting int
	sweeper *time.Timer // nil while nothing rests
	closed  bool
}

// origin is where a connection leads.
type origin struct{ scheme, address string }

// Observer is told of a request on its way, on the goroutine that sends it.
type Observer interface {
	// Connected says where the connection leads that the request goes over.
	Connected(address string)
	// Informed passes an informational response (RFC 9110 §15.2).
	Informed(status int, fields http.Header)
}

// ErrUnanswered is wrapped by the error of a request to which a new connection
// brought nothing at all, not even a byte: the origin may not speak HTTP/1.1.
var ErrUnanswered = errors.New("connection ended without an answer")

// RoundTrip sends r and returns its response, whose body the caller reads and
// closes. It leaves the body of r open.
//
// r must not ask for an upgrade, expect 100 (Continue) or announce trailers,
// and its body must be short and at hand: it is written before anything is
// read. A request is sent again, once, if the connection was used before and
// ended without a byte of an answer, and only if it has no body and an
// idempotent method (RFC 9110 §9.2.2).
//
// What an origin says that has more than one reading is an *[Error].
func (o *Origins) RoundTrip(r *http.Request, by Observer) (*http.Response, error) {
	resp, used, err := o.try(r, by, false)
	if used && errors.Is(err, errSilent) && Repeatable(r) && r.Context().Err() == nil {
		resp, used, err = o.try(r, by, true)
	}
	if err == nil {
		return resp, nil
	}
	if cause := context.Cause(r.Context()); cause != nil {
		return nil, cause
	}
	if !used && errors.Is(err, errSilent) {
		err = fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	return nil, err
}

// try sends r on one connection; used says that it had been used before.
func (o *Origins) try(r *http.Request, by Observer, fresh bool) (_ *http.Response, used bool, _ error) {
	c, err := o.conn(r, origin{r.URL.Scheme, r.URL.Host}, fresh)
	if err != nil {
		return nil, false, err
	}
	by.Connected(c.address)
	used = c.uses > 0
	resp, err := c.roundTrip(r, by)
	if err != nil {
		c.end()
		return nil, used, err
	}
	return resp, used, nil
}

// Repeatable reports whether r may be sent twice: it has no body, and a method
// that is idempotent.
func Repeatable(r *http.Request) bool {
	if r.Body != nil && r.Body != http.NoBody {
		return false
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodDelete:
		return true
	}
	return false
}

// conn returns the connection that was used last, if it is still good, or a new
// one.
func (o *Origins) conn(r *http.Request, at origin, fresh bool) (*originConn, error) {
	for !fresh {
		c := o.take(at)
		if c == nil {
			break
		}
		if c.quiet() {
			return c, nil
		}
		c.end()
	}
	nc, err := o.Dial(r.Context(), at.scheme, at.address)
	if err != nil {
		return nil, err
	}
	return newOriginConn(o, at, nc), nil
}

// Close ends the connections at rest, and every other once it would rest.
func (o *Origins) Close() {
	o.mu.Lock()
	o.closed = true
	all := o.oldest
	o.idle, o.oldest, o.newest, o.resting = nil, nil, nil, 0
	if o.sweeper != nil {
		o.sweeper.Stop()
	}
	o.mu.Unlock()
	for ; all != nil; all = all.newer {
		all.end()
	}
}
