package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// originConn is a connection to an origin. One goroutine uses it at a time.
type originConn struct {
	from *Origins
	at   origin
	nc   net.Conn
	br   *bufio.Reader // nil at rest
	uses int
	// beforeRead is called before more of a body is awaited; nil: nobody.
	beforeRead func()
	inBody     bool
	address    string // of the other end
	// until is the read deadline in force.
	until time.Time

	// At rest, guarded by the mutex of from.
	since        time.Time
	older, newer *originConn
}

func newOriginConn(o *Origins, at origin, nc net.Conn) *originConn {
	return &originConn{from: o, at: at, nc: nc, address: nc.RemoteAddr().String()}
}

// maxInformational bounds how many 1xx responses may come before the final one.
const maxInformational = 5

var (
	errSilent        = errors.New("connection ended before the response")
	errInformational = badReply("too many informational responses")
	errSwitched      = badReply("switched protocols without being asked")
)

// roundTrip writes r and reads the head of its response. The connection is
// closed when the context of r ends before the body has.
func (c *originConn) roundTrip(r *http.Request, by Observer) (*http.Response, error) {
	stop := context.AfterFunc(r.Context(), func() { hangUp(c.nc) })
	resp, err := c.exchange(r, by, stop)
	if err != nil {
		stop()
	}
	return resp, err
}

func (c *originConn) exchange(r *http.Request, by Observer, stop func() bool) (*http.Response, error) {
	c.uses++
	if err := c.write(r); err != nil {
		return nil, err
	}
	c.br = getReader(c)
	for range maxInformational {
		h, resp, err := c.readHead(r)
		if err != nil {
			return nil, err
		}
		switch {
		case h.status >= 200:
			return c.respond(r, h, resp, stop), nil
		case h.status == http.StatusSwitchingProtocols:
			return nil, errSwitched
		default:
			by.Informed(h.status, resp.Header)
		}
	}
	return nil, errInformational
}

// Read reads from the origin for the buffered reader. A head has one deadline as
// a whole, a body one for each wait.
func (c *originConn) Read(p []byte) (int, error) {
	if c.inBody {
		if err := c.within(c.from.Idle); err != nil {
			return 0, err
		}
		if c.beforeRead != nil {
			c.beforeRead()
		}
	}
	return c.nc.Read(p)
}

// write sends all of r.
func (c *originConn) write(r *http.Request) error {
	if err := c.nc.SetWriteDeadline(time.Now().Add(c.from.Idle)); err != nil {
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	bw := getWriter(c.nc)
	defer putWriter(bw)
	if err := writeRequest(bw, r); err != nil {
		return err
	}
	if r.Body != nil && r.Body != http.NoBody {
		// One more than there should be: whoever looks through the body has the
		// last word at its end.
		n, err := io.Copy(struct{ io.Writer }{bw}, io.LimitReader(r.Body, r.ContentLength+1))
		if err != nil {
			return fmt.Errorf("send request: %w", err)
		}
		if n != r.ContentLength {
			return fmt.Errorf("send request: %w", io.ErrUnexpectedEOF)
		}
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	return nil
}

var errUnsendable = errors.New("send request: a byte that must not be in a head")

// writeRequest writes the head of r. What would end a line early is an error,
// wherever it came from.
func writeRequest(bw *bufio.Writer, r *http.Request) error {
	target := r.URL.RequestURI()
	if !isToken([]byte(r.Method)) || hasControl(target) || hasControl(r.Host) {
		return errUnsendable
	}
	for name, values := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return errUnsendable
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return errUnsendable
			}
		}
	}
	for _, s := range []string{r.Method, " ", target, " HTTP/1.1\r\nHost: ", r.Host, "\r\n"} {
		if _, err := bw.WriteString(s); err != nil {
			return fmt.Errorf("%w: %w", errSilent, err)
		}
	}
	if r.ContentLength > 0 || needsLength(r.Method) {
		if _, err := bw.WriteString("Content-Length: " + strconv.FormatInt(r.ContentLength, 10) + "\r\n"); err != nil {
			return fmt.Errorf("%w: %w", errSilent, err)
		}
	}
	if err := r.Header.WriteSubset(bw, unsentRequest); err != nil {
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	if _, err := bw.WriteString("\r\n"); err != nil {
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	return nil
}

// unsentRequest are fields that writeRequest itself decides on.
var unsentRequest = map[string]bool{
	"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Trailer": true, "Connection": true,
}

// needsLength reports whether a request without a body says so (RFC 9110 §8.6).
func needsLength(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f })
}

// readHead reads one head, informational or final.
func (c *originConn) readHead(r *http.Request) (*replyHead, *http.Response, error) {
	if err := c.within(c.from.HeadTimeout); err != nil {
		return nil, nil, err
	}
	raw := getHead()
	defer putHead(raw)
	var err error
	if *raw, err = readHead(c.br, (*raw)[:0], c.from.MaxHead); err != nil {
		return nil, nil, c.headError(*raw, err)
	}
	h, bad := checkReply(*raw)
	if bad != nil {
		return nil, nil, bad
	}
	resp, bad := parseReply(*raw, h, r)
	if bad != nil {
		return nil, nil, bad
	}
	return h, resp, nil
}

// headError tells an origin that said nothing from one that broke off.
func (c *originConn) headError(got []byte, err error) error {
	var bad *Error
	switch {
	case errors.As(err, &bad):
		return badReply(bad.Msg)
	case len(got) == 0 && !errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	return fmt.Errorf("read response: %w", unexpected(err))
}

// within moves the read deadline to d from now. Being late by a small part of
// it doesn't matter, and saves the runtime most changes of its timers.
func (c *originConn) within(d time.Duration) error {
	now := time.Now()
	late := d / 16
	if left := c.until.Sub(now); left >= d && left <= d+late {
		return nil
	}
	c.until = now.Add(d + late)
	return c.nc.SetReadDeadline(c.until)
}

// end closes the connection at once.
func (c *originConn) end() {
	if c.br != nil {
		putReader(c.br)
		c.br = nil
	}
	hangUp(c.nc)
}

// hangUp closes a connection without the words that TLS has for it: they could
// wait for an origin that reads nothing.
func hangUp(nc net.Conn) {
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	nc.Close()
}
