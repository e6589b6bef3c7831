package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/edge/boundary"
)

// Client talks to the edge that serves a control socket. It keeps no
// connection and is safe for concurrent use.
type Client struct{ path string }

// NewClient returns a Client for the socket at path. It does no I/O.
func NewClient(path string) *Client { return &Client{path} }

// Listener is a socket that goes with [Client.Open]. Socket is a
// *net.TCPListener, for [ListenDNS] a *net.UDPConn, for [ListenBroker] a
// *net.UnixListener; it stays the caller's, whose copy should be closed once the boundary is.
type Listener struct {
	Kind   ListenerKind
	Socket syscall.Conn
}

// Error is an answer of the edge that isn't a success.
type Error struct {
	Status int // of HTTP
	Code   string
	Msg    string
}

func (e *Error) Error() string { return e.Msg }

// IsNotFound reports whether err says that there is no such boundary or
// secret.
func IsNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound
}

// Open opens the boundary that spec describes, or replaces it. With listeners,
// they are what it is served on from now on; without, a replacement keeps
// those it has. It returns the placeholders by variable.
func (c *Client) Open(ctx context.Context, spec boundary.Spec, listeners ...Listener) (map[string]string, error) {
	if err := boundary.ValidateID(spec.ID); err != nil {
		return nil, fmt.Errorf("open boundary %w", err)
	}
	req := OpenRequest{Spec: spec}
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	for _, l := range listeners {
		fd, err := duplicate(l.Socket)
		if err != nil {
			return nil, fmt.Errorf("open boundary %s: pass %s listener: %w", spec.ID, l.Kind, err)
		}
		fds = append(fds, fd)
		req.Listeners = append(req.Listeners, l.Kind)
	}
	var resp OpenResponse
	if err := c.call(ctx, http.MethodPut, "/v1/boundaries/"+spec.ID, req, &resp, fds); err != nil {
		return nil, fmt.Errorf("open boundary %s: %w", spec.ID, err)
	}
	return resp.Env, nil
}

// Close closes a boundary and its listeners, and returns when nothing serves
// them any more.
func (c *Client) Close(ctx context.Context, id string) error {
	if err := c.call(ctx, http.MethodDelete, "/v1/boundaries/"+url.PathEscape(id), nil, nil, nil); err != nil {
		return fmt.Errorf("close boundary %s: %w", id, err)
	}
	return nil
}

// Env returns the placeholders of an open boundary by variable.
func (c *Client) Env(ctx context.Context, id string) (map[string]string, error) {
	var resp OpenResponse
	if err := c.call(ctx, http.MethodGet, "/v1/boundaries/"+url.PathEscape(id)+"/env", nil, &resp, nil); err != nil {
		return nil, fmt.Errorf("read environment of boundary %s: %w", id, err)
	}
	return resp.Env, nil
}

// Trust returns the certificate of the edge's CA, PEM.
func (c *Client) Trust(ctx context.Context) (string, error) {
	var resp TrustResponse
	if err := c.call(ctx, http.MethodGet, "/v1/trust", nil, &resp, nil); err != nil {
		return "", fmt.Errorf("read trust: %w", err)
	}
	return resp.CA, nil
}

// SetSecret pushes a secret into the edge's memory, where bindings name it
// "memory:NAME".
func (c *Client) SetSecret(ctx context.Context, name string, value []byte) error {
	if err := c.call(ctx, http.MethodPut, "/v1/secrets/"+url.PathEscape(name), SetSecretRequest{value}, nil, nil); err != nil {
		return fmt.Errorf("push secret: %w", err)
	}
	return nil
}

// ListSecrets returns the pushed secrets, without their values.
func (c *Client) ListSecrets(ctx context.Context) ([]SecretInfo, error) {
	var list SecretList
	if err := c.call(ctx, http.MethodGet, "/v1/secrets", nil, &list, nil); err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	return list.Secrets, nil
}

// DeleteSecret removes a pushed secret.
func (c *Client) DeleteSecret(ctx context.Context, name string) error {
	if err := c.call(ctx, http.MethodDelete, "/v1/secrets/"+url.PathEscape(name), nil, nil, nil); err != nil {
		return fmt.Errorf("delete secret %s: %w", name, err)
	}
	return nil
}

// Health asks the edge how it is.
func (c *Client) Health(ctx context.Context) (HealthResponse, error) {
	var resp HealthResponse
	if err := c.call(ctx, http.MethodGet, "/healthz", nil, &resp, nil); err != nil {
		return HealthResponse{}, fmt.Errorf("check health of the edge: %w", err)
	}
	return resp, nil
}

// call makes one request on a connection of its own, with fds beside its
// first bytes, and decodes the answer into out unless that is nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any, fds []int) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://edge"+path, body)
	if err != nil {
		return err
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if err := checkDir(c.path); err != nil {
				return nil, err
			}
			conn, err := new(net.Dialer).DialContext(ctx, "unix", c.path)
			if err != nil {
				return nil, err
			}
			return &sendConn{UnixConn: conn.(*net.UnixConn), descriptors: fds}, nil
		},
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return read(resp, out)
}

func read(resp *http.Response, out any) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		var e ErrorResponse
		if json.Unmarshal(data, &e) != nil || e.Error.Code == "" {
			return &Error{Status: resp.StatusCode, Code: "internal", Msg: "the edge answered " + resp.Status}
		}
		return &Error{Status: resp.StatusCode, Code: e.Error.Code, Msg: e.Error.Message}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

// duplicate returns a descriptor of the caller's socket for sending. It goes
// around os.File, whose Fd method would set the shared socket to blocking.
func duplicate(socket syscall.Conn) (int, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return -1, err
	}
	var fd int
	var dupErr error
	if err := raw.Control(func(original uintptr) {
		fd, dupErr = unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0)
	}); err != nil {
		return -1, err
	}
	return fd, dupErr
}
