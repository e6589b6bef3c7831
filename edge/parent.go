package edge

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/sallyport/sallyport/edge/guard"
	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/policy"
)

// parentHead bounds the head of a parent's answer to CONNECT.
const parentHead = 16 << 10

// viaParent connects to host through the parent proxy. The name is resolved
// there, so the guard can only judge addresses that a sandbox typed; pinned
// destinations don't come here. An error is a *fault.
func (u *upstream) viaParent(ctx context.Context, host policy.Host, port uint16) (net.Conn, error) {
	if err := u.dialer.CheckLiteral(host, port); err != nil {
		return nil, &fault{code: dialCode(err), err: err}
	}
	conn, err := u.dialParent(ctx)
	if err != nil {
		return nil, &fault{code: dialCode(err), err: fmt.Errorf("dial parent proxy: %w", err)}
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline) // fails on a dead connection, and so will what follows
	}
	tunnel, err := askParent(conn, u.parent, hostPort(host, port))
	if err != nil {
		conn.Close()
		return nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	return tunnel, nil
}

// dialParent connects to the proxy itself, which is the operator's choice and
// not judged by the guard.
func (u *upstream) dialParent(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	if u.parent.Scheme != schemeHTTPS {
		return d.DialContext(ctx, "tcp", u.parent.Host)
	}
	cfg := &tls.Config{RootCAs: u.roots, MinVersion: tls.VersionTLS12, ServerName: u.parent.Hostname()}
	return (&tls.Dialer{NetDialer: &d, Config: cfg}).DialContext(ctx, "tcp", u.parent.Host)
}

// askParent asks for a tunnel to target.
func askParent(conn net.Conn, parent *url.URL, target string) (net.Conn, error) {
	head := "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n"
	if parent.User != nil {
		password, _ := parent.User.Password()
		head += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(parent.User.Username()+":"+password)) + "\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"); err != nil {
		return nil, &fault{code: dialCode(err), err: fmt.Errorf("ask parent proxy: %w", err)}
	}
	limited := &io.LimitedReader{R: conn, N: parentHead}
	br := bufio.NewReader(limited)
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, &fault{code: dialCode(err), err: fmt.Errorf("read answer of parent proxy: %w", err)}
	}
	if resp.StatusCode/100 != 2 {
		return nil, &fault{code: parentCode(resp.StatusCode), err: fmt.Errorf("parent proxy answered %q", resp.Status)}
	}
	early, err := br.Peek(br.Buffered())
	if err != nil {
		return nil, &fault{code: refusal.UpstreamDialError, err: err}
	}
	// The upstream may have spoken already.
	return &replayConn{Conn: conn, r: io.MultiReader(bytes.NewReader(early), conn)}, nil
}

// parentCode says what a parent's refusal means to a sandbox. That the parent
// doesn't know us is the operator's concern.
func parentCode(status int) refusal.Code {
	switch status {
	case http.StatusForbidden, http.StatusUnavailableForLegalReasons, http.StatusMethodNotAllowed:
		return refusal.ParentProxyDenied
	case http.StatusTooManyRequests:
		return refusal.RateLimited
	case http.StatusServiceUnavailable:
		return refusal.EdgeOverloaded
	case http.StatusGatewayTimeout:
		return refusal.UpstreamTimeout
	}
	return refusal.UpstreamDialError
}

// checkParent says why a URL can't be that of a parent proxy.
func checkParent(u *url.URL) error {
	if u.Scheme != schemeHTTP && u.Scheme != schemeHTTPS || u.Port() == "" || u.Hostname() == "" {
		return errors.New("make edge: expected a parent proxy such as http://proxy.example.com:3128")
	}
	return nil
}

// pinned reports whether the operator has said where host leads.
func pinned(d *guard.Dialer, host policy.Host, port uint16) bool {
	_, ok := d.Pins[guard.HostPort{Host: host, Port: port}]
	return ok
}
