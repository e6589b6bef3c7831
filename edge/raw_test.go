package edge_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"testing"
	"time"
)

var discardLog = log.New(io.Discard, "", 0)

// raw is a connection on which a test writes and reads bytes.
type raw struct {
	testing.TB
	net.Conn
	br *bufio.Reader
}

func (b *bed) dial(addr string) *raw {
	b.Helper()
	c, err := net.Dial("tcp", addr)
	b.must(err)
	b.Cleanup(func() { c.Close() })
	b.must(c.SetDeadline(time.Now().Add(20 * time.Second)))
	return &raw{b.TB, c, bufio.NewReader(c)}
}

// connect opens a tunnel through the box's proxy.
func (b *bed) connect(authority string) *raw {
	b.Helper()
	k := b.dial(b.proxy)
	k.send("CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n\r\n")
	k.expect("HTTP/1.1 200 Connection established\r\n\r\n")
	return k
}

// tls starts TLS on a tunnel.
func (b *bed) tls(k *raw, cfg *tls.Config) (*raw, error) {
	cfg.RootCAs = pool(b.opts.Authority)
	c := tls.Client(k.Conn, cfg)
	if err := c.Handshake(); err != nil {
		return nil, err
	}
	return &raw{b.TB, c, bufio.NewReader(c)}, nil
}

// inside opens a tunnel with TLS for a host.
func (b *bed) inside(host string) *raw {
	b.Helper()
	k, err := b.tls(b.connect(host+":443"), &tls.Config{ServerName: host})
	b.must(err)
	return k
}

func (k *raw) send(s string) {
	k.Helper()
	if _, err := io.WriteString(k.Conn, s); err != nil {
		k.Fatal(err)
	}
}

func (k *raw) expect(want string) {
	k.Helper()
	got := make([]byte, len(want))
	n, _ := io.ReadFull(k.br, got)
	if string(got[:n]) != want {
		k.Fatalf("read %q, want %q", got[:n], want)
	}
}

func (k *raw) response(method string) (*http.Response, string) {
	k.Helper()
	resp, err := http.ReadResponse(k.br, &http.Request{Method: method})
	if err != nil {
		k.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		k.Fatalf("read body after %q: %v", body, err)
	}
	return resp, string(body)
}

// ended checks that the other side has closed the connection.
func (k *raw) ended() {
	k.Helper()
	b, err := k.br.ReadByte()
	var ne net.Error
	if err == nil || errors.As(err, &ne) && ne.Timeout() {
		k.Errorf("read %q, error %v; want the end of the connection", b, err)
	}
}
