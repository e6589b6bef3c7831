package suite

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Client plays rows. Its zero value plays transparent rows with the system's
// roots; it is safe for concurrent use as long as its fields don't change.
type Client struct {
	// Proxy is the explicit proxy; its user and password, if any, are sent as
	// proxy credentials. nil means that explicit rows can't be played.
	Proxy *url.URL
	// Roots verify what the proxy shows; nil means the system's.
	Roots *x509.CertPool
	// Placeholder is what stands for the secret.
	Placeholder string
	// Literal is the address of the host that is known by address only.
	Literal string
}

// patience is how long an answer may take.
const patience = 20 * time.Second

// Play does what the row says and returns the answers, as many as the row
// expects at most. An error means that the row couldn't be played.
func (c *Client) Play(ctx context.Context, r Row) ([]string, error) {
	r = c.fill(r)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := c.dial(ctx, r)
	if errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH) {
		return []string{"unreachable"}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open connection: %w", err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, fmt.Errorf("set deadline: %w", err)
	}
	if r.Connect != "" {
		status := c.connect(conn, r.Connect)
		if status != "200" {
			return []string{"connect-" + status}, nil
		}
	}
	if r.TLS {
		tc, err := c.handshake(ctx, conn, r)
		if err != nil {
			return []string{end(err)}, nil
		}
		conn = tc
	}
	if r.Streams != nil {
		return playStreams(conn, r), nil
	}
	return playMessages(conn, r), nil
}

func (c *Client) dial(ctx context.Context, r Row) (net.Conn, error) {
	to := r.Destination
	if r.Mode == Explicit {
		if c.Proxy == nil {
			return nil, errors.New("no proxy")
		}
		to = c.Proxy.Host
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", to)
}

// connect sends a CONNECT head, with the proxy's credentials, and reads the
// answer byte by byte, so that nothing of the tunnel is lost.
func (c *Client) connect(conn net.Conn, head string) string {
	if _, err := io.WriteString(conn, c.withCredentials(head)); err != nil {
		return end(err)
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(oneByOne{conn}, 16), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return end(err)
	}
	defer resp.Body.Close()
	return fmt.Sprint(resp.StatusCode)
}

// withCredentials adds the proxy credentials to every head in a text.
func (c *Client) withCredentials(text string) string {
	if c.Proxy == nil || c.Proxy.User == nil {
		return text
	}
	password, _ := c.Proxy.User.Password()
	value := base64.StdEncoding.EncodeToString([]byte(c.Proxy.User.Username() + ":" + password))
	var out strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		out.WriteString(line)
		if strings.Contains(line, " HTTP/1.") {
			out.WriteString("Proxy-Authorization: Basic " + value + "\r\n")
		}
	}
	return out.String()
}

// oneByOne never reads ahead.
type oneByOne struct{ r io.Reader }

func (o oneByOne) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 1)]) }

// handshake starts TLS. The proxy has to show a certificate of the row's leaf,
// whatever name the hello holds.
func (c *Client) handshake(ctx context.Context, conn net.Conn, r Row) (*tls.Conn, error) {
	cfg := &tls.Config{
		ServerName:         r.SNI,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection does it, by another name
		VerifyConnection: func(s tls.ConnectionState) error {
			intermediates := x509.NewCertPool()
			for _, cert := range s.PeerCertificates[1:] {
				intermediates.AddCert(cert)
			}
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: r.Leaf, Roots: c.Roots, Intermediates: intermediates})
			return err
		},
	}
	if r.Streams != nil {
		cfg.NextProtos = []string{"h2"}
	}
	if net.ParseIP(r.SNI) != nil || strings.HasSuffix(r.SNI, ".") {
		// crypto/tls doesn't send these: another name of the same length goes
		// into the hello, and is overwritten on the way.
		cfg.ServerName = strings.Repeat("x", len(r.SNI))
		conn = &rewriting{Conn: conn, from: cfg.ServerName, to: r.SNI}
	}
	tc := tls.Client(conn, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return tc, nil
}

// rewriting replaces text in the first write.
type rewriting struct {
	net.Conn
	from, to string
	done     bool
}

func (c *rewriting) Write(p []byte) (int, error) {
	if c.done {
		return c.Conn.Write(p)
	}
	c.done = true
	_, err := c.Conn.Write(bytes.Replace(p, []byte(c.from), []byte(c.to), 1))
	return len(p), err
}

// playMessages sends HTTP/1 messages and reads as many answers as are expected.
func playMessages(conn net.Conn, r Row) []string {
	br := bufio.NewReader(conn)
	var answers []string
	for i, text := range r.Send {
		if _, err := io.WriteString(conn, text); err != nil {
			return append(answers, end(err))
		}
		for last := i == len(r.Send)-1; len(answers) < len(r.Answers); {
			resp, err := http.ReadResponse(br, nil)
			if err != nil {
				return append(answers, end(err))
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				return append(answers, end(err))
			}
			answers = append(answers, fmt.Sprint(resp.StatusCode))
			if !last {
				break
			}
		}
	}
	return answers
}

// end says how a connection ended.
func end(err error) string {
	var ne net.Error
	var verify *tls.CertificateVerificationError
	switch {
	case errors.As(err, &ne) && ne.Timeout():
		return "silent"
	case errors.As(err, &verify), errors.As(err, new(x509.HostnameError)), errors.As(err, new(x509.UnknownAuthorityError)):
		return "untrusted"
	}
	return "closed"
}
