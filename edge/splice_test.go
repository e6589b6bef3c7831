package edge_test

import (
	"crypto/tls"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/policy"
)

func (b *bed) noIntercept(glob string) {
	b.Helper()
	p, err := policy.Compile(policy.Document{Rules: []policy.Rule{{HostGlob: glob, Action: policy.Allow}}})
	b.must(err)
	b.opts.NoIntercept = p
}

// handshake returns whose certificate a client is shown: "edge", "origin", or
// an error's text.
func (b *bed) handshake(k *raw, cfg *tls.Config) string {
	roots := pool(b.opts.Authority)
	roots.AddCert(b.origins.Certificate())
	cfg.RootCAs = roots
	c := tls.Client(k.Conn, cfg)
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if err := c.Handshake(); err != nil {
		return err.Error()
	}
	chain := c.ConnectionState().VerifiedChains[0]
	if chain[len(chain)-1].Equal(b.origins.Certificate()) {
		return "origin"
	}
	return "edge"
}

// Ledger: ED-19
func TestNoIntercept(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.noIntercept("*.allowed.test")
	for _, host := range []string{"pinned.allowed.test", "bound.allowed.test", "allowed.test"} {
		b.origin(host, echoHeaders)
	}
	b.start()
	var long []string // a hello of several records
	for range 600 {
		long = append(long, strings.Repeat("x", 100))
	}
	cases := []struct {
		name, connect string
		cfg           *tls.Config
		want          string
	}{
		{"listed", "pinned.allowed.test:443", clientTLS("pinned.allowed.test"), "origin"},
		{"hello of several records", "pinned.allowed.test:443", &tls.Config{ServerName: "pinned.allowed.test", NextProtos: append(long, "http/1.1")}, "origin"},
		{"not listed", "allowed.test:443", clientTLS("allowed.test"), "edge"},
		{"bound, though listed", "bound.allowed.test:443", clientTLS("bound.allowed.test"), "edge"},
		{"another server name", "pinned.allowed.test:443", clientTLS("allowed.test"), "unrecognized name"},
		{"a listed name in another's tunnel", "allowed.test:443", clientTLS("pinned.allowed.test"), "unrecognized name"},
	}
	for _, c := range cases {
		k := b.connect(c.connect)
		if got := b.handshake(k, c.cfg); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	nameless := &tls.Config{InsecureSkipVerify: true}
	k, err := b.tls(b.connect("pinned.allowed.test:443"), nameless)
	b.must(err)
	leaf := k.Conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
	b.must(leaf.CheckSignatureFrom(b.opts.Authority.Certificate()))
	if got := b.handshake(b.redirect("203.0.113.66:443"), clientTLS("pinned.allowed.test")); got != "origin" {
		t.Errorf("transparent: %s", got)
	}
	if got := b.handshake(b.redirect("203.0.113.66:443"), clientTLS("denied.allowed.test")); got != "edge" {
		t.Errorf("listed but denied: %s; inside TLS it could be told why", got)
	}
}

// What goes through a spliced tunnel is counted, and ends when a secret is
// bound to its host.
func TestSplicedTunnelEndsWithBinding(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.opts.InterceptBoundOnly = true
	b.origin("www.allowed.test", echoHeaders)
	b.origin("bound.allowed.test", echoHeaders)
	b.start()
	if got := b.handshake(b.connect("bound.allowed.test:443"), clientTLS("bound.allowed.test")); got != "edge" {
		t.Errorf("bound: %s", got)
	}
	k := b.connect("www.allowed.test:443")
	c := tls.Client(k.Conn, &tls.Config{ServerName: "www.allowed.test", RootCAs: pool(b.origins)})
	b.must(c.Handshake())
	_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n")
	b.must(err)
	late := binding
	late.Host = "www.allowed.test"
	b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{late}}, defaultPolicy)
	b.must(c.SetDeadline(time.Now().Add(10 * time.Second)))
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the tunnel goes on")
	}
	for _, r := range b.recorded(1) {
		if r.Host == "www.allowed.test" && (r.Protocol != "tls" || r.BytesUp == 0 || r.Verdict != audit.VerdictDeny) {
			t.Errorf("record %+v", r)
		}
	}
}
