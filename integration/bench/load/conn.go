package load

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"time"
)

// conn is a client's connection to the origin, whichever way it goes.
type conn struct {
	net.Conn
	br *bufio.Reader
	m  message
}

const patience = 60 * time.Second

// open connects to name, and shakes hands unless the scenario is in cleartext.
func (w *worker) open(name, protocol string, cfg *tls.Config) (*conn, error) {
	plain := w.s.Kind == Plain
	to := w.t.Proxy
	if to == "" {
		to = w.t.Origin
		if plain {
			to = w.t.PlainOrigin
		}
	}
	raw, err := net.DialTimeout("tcp", to, patience)
	if err != nil {
		return nil, err
	}
	_ = raw.SetDeadline(time.Now().Add(patience))
	if plain {
		return &conn{Conn: raw, br: bufio.NewReader(raw)}, nil
	}
	if w.t.Proxy != "" {
		if err := w.t.connect(raw, name); err != nil {
			raw.Close()
			return nil, err
		}
	}
	cfg = cfg.Clone()
	cfg.ServerName = name
	tc := tls.Client(raw, cfg)
	if err := tc.Handshake(); err != nil {
		raw.Close()
		return nil, fmt.Errorf("shake hands: %w", err)
	}
	if got := tc.ConnectionState().NegotiatedProtocol; protocol == "h2" && got != protocol {
		tc.Close()
		return nil, errors.New("no HTTP/2")
	}
	return &conn{Conn: tc, br: bufio.NewReader(tc)}, nil
}

// connect asks the proxy for a tunnel.
func (t *Target) connect(raw net.Conn, name string) error {
	to := net.JoinHostPort(name, t.port(false))
	if _, err := fmt.Fprintf(raw, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", to, to, t.credentials()); err != nil {
		return err
	}
	br := bufio.NewReaderSize(raw, 1024)
	var m message
	if err := m.read(br); err != nil {
		return fmt.Errorf("read answer to CONNECT: %w", err)
	}
	if !m.ok() || br.Buffered() > 0 {
		return fmt.Errorf("answer to CONNECT: %q", m.first)
	}
	return nil
}

func (t *Target) credentials() string {
	if t.Credentials == "" {
		return ""
	}
	return "Proxy-Authorization: " + t.Credentials + "\r\n"
}

// request renders a request; more is field lines.
func (t *Target) request(s Scenario, method, name, path, more string) []byte {
	to := net.JoinHostPort(name, t.port(s.Kind == Plain))
	target := path
	if s.Kind == Plain {
		if t.Proxy != "" {
			target, more = "http://"+to+path, t.credentials()+more
		}
	} else if s.Hosts == 0 && s.Host == "" {
		more += "Authorization: " + t.Authorization + "\r\n"
	}
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench/1.0\r\nAccept: */*\r\n%s\r\n", method, target, to, more)
}

// expect reads a response and compares its body with want, times over.
func (c *conn) expect(w *worker, want []byte, times int, each func()) error {
	if err := c.m.read(c.br); err != nil {
		return fmt.Errorf("read response: %w", err)
	}
	if !c.m.ok() {
		return fmt.Errorf("response %q", c.m.first)
	}
	if w.proves() && string(c.m.proof) != w.t.Proof {
		return errProof
	}
	n := int64(len(want) * times)
	if c.m.chunked {
		return c.expectChunked(w, want, n, each)
	}
	if c.m.length != n {
		return fmt.Errorf("response of %d bytes, want %d", c.m.length, n)
	}
	return same(c.br, n, want, w.buf, each)
}

// expectChunked is for what a proxy sends whose length it didn't know.
func (c *conn) expectChunked(w *worker, want []byte, n int64, each func()) error {
	body := httputil.NewChunkedReader(c.br)
	if err := same(body, n, want, w.buf, each); err != nil {
		return err
	}
	if _, err := body.Read(w.buf); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more than %d bytes: %w", n, err)
	}
	_, err := c.br.Discard(len("\r\n")) // of an empty trailer section
	return err
}

var errProof = errors.New("the origin has not seen the secret")

// proves reports whether requests carry what the origin has to see.
func (w *worker) proves() bool {
	return w.t.Proof != "" && w.s.Kind != Plain && w.s.Hosts == 0 && w.s.Host == ""
}
