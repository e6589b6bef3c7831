package edge_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/edge"
	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/guard"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/memory"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	boxID   = "box"
	token   = "token-of-the-box"
	secret1 = "s3cr3t-value-of-the-operator"
)

// bed is an edge with real origins on loopback ports and one boundary, "box",
// that may reach *.allowed.test and allowed.test, and has a secret for
// bound.allowed.test.
type bed struct {
	testing.TB
	opts    edge.Options
	table   *boundary.Table
	origins *certs.Authority // signs what the origins show
	secrets *memory.Source
	key     inject.Key
	pins    map[guard.HostPort]netip.AddrPort

	mu      sync.Mutex
	records []audit.Record

	edge  *edge.Edge
	proxy string // address of the box's own proxy listener
}

func (b *bed) Record(r audit.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records = append(b.records, r)
}

const defaultPolicy = `{"version":"v1","rules":[
	{"match":{"host_glob":"denied.allowed.test"},"action":{"type":"deny"}},
	{"match":{"host_glob":"**.allowed.test"},"action":{"type":"allow"}},
	{"match":{"host_glob":"allowed.test"},"action":{"type":"allow"}}]}`

var binding = inject.Binding{Env: "API_TOKEN", Host: "bound.allowed.test", Secret: "mem:token"}

func newBed(t testing.TB) *bed {
	t.Helper()
	b := &bed{TB: t, table: &boundary.Table{}, pins: map[guard.HostPort]netip.AddrPort{}, secrets: memory.New()}
	b.origins = b.authority()
	b.must(b.secrets.Set("token", []byte(secret1)))
	b.opts = edge.Options{
		Authority: b.authority(), Table: b.table, Audit: b,
		Resolver: inject.NewResolver(map[string]secret.Source{"mem": b.secrets}),
		Dialer:   &guard.Dialer{Pins: b.pins},
		Roots:    pool(b.origins), OpaqueConnect: true,
	}
	b.put(boundary.Spec{ID: boxID, TokenSHA256: boundary.TokenDigest([]byte(token)), Bindings: []inject.Binding{binding}}, defaultPolicy)
	return b
}

func (b *bed) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bed) authority() *certs.Authority {
	a, err := certs.New()
	b.must(err)
	return a
}

func pool(a *certs.Authority) *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.Certificate())
	return p
}

// put opens or replaces a boundary and returns its environment.
func (b *bed) put(spec boundary.Spec, rules string) map[string]string {
	b.Helper()
	doc, err := policy.Parse([]byte(rules))
	b.must(err)
	spec.NetworkPolicy = doc
	compiled, err := boundary.Compile(spec, b.key)
	b.must(err)
	return b.table.Put(compiled).Bindings.Env()
}

// pin makes host:port lead to a listener.
func (b *bed) pin(host string, port uint16, ln net.Listener) {
	b.Helper()
	b.pins[b.hostPort(host, port)] = netip.MustParseAddrPort(ln.Addr().String())
}

func (b *bed) listen() net.Listener {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	b.must(err)
	b.Cleanup(func() { ln.Close() })
	return ln
}

// origin serves h over TLS, with HTTP/2, as host:443. Call it before start.
func (b *bed) origin(host string, h http.HandlerFunc) {
	b.Helper()
	b.originTLS(host, 443, &tls.Config{NextProtos: []string{"h2", "http/1.1"}}, h)
}

func (b *bed) originTLS(host string, port uint16, cfg *tls.Config, h http.HandlerFunc) {
	b.Helper()
	signer := b.origins
	cfg.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return signer.Leaf(host) }
	ln := b.listen()
	b.pin(host, port, ln)
	srv := &http.Server{Handler: h, TLSConfig: cfg, ErrorLog: discardLog}
	if !slices.Contains(cfg.NextProtos, "h2") {
		srv.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	b.serve(srv, func() error { return srv.ServeTLS(ln, "", "") })
}

// originHTTP serves h in cleartext as host:80.
func (b *bed) originHTTP(host string, port uint16, h http.HandlerFunc) {
	b.Helper()
	ln := b.listen()
	b.pin(host, port, ln)
	srv := &http.Server{Handler: h, ErrorLog: discardLog}
	b.serve(srv, func() error { return srv.Serve(ln) })
}

func (b *bed) serve(srv *http.Server, run func() error) {
	done := make(chan struct{})
	go func() { defer close(done); _ = run() }()
	b.Cleanup(func() { srv.Close(); <-done })
}

// start makes the edge and serves the box's own proxy listener.
func (b *bed) start() *bed {
	b.Helper()
	var err error
	b.edge, err = edge.New(b.opts)
	b.must(err)
	b.proxy = b.serveProxy(boxID)
	return b
}

// serveProxy serves the explicit proxy for a boundary and returns its address.
func (b *bed) serveProxy(id string) string {
	b.Helper()
	return b.run(func(ctx context.Context, ln net.Listener) error { return b.edge.ServeProxy(ctx, ln, id) })
}

// run serves a new listener until the test ends, and checks that it stops
// cleanly.
func (b *bed) run(serve func(context.Context, net.Listener) error) string {
	ln := b.listen()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, ln) }()
	b.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				b.Errorf("serve: %v", err)
			}
		case <-time.After(10 * time.Second):
			b.Error("serve doesn't stop")
		}
	})
	return ln.Addr().String()
}

// client returns a client that uses the proxy and trusts the edge's CA.
func (b *bed) client(h2 bool) *http.Client {
	tr := &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: b.proxy}),
		TLSClientConfig:   &tls.Config{RootCAs: pool(b.opts.Authority)},
		ForceAttemptHTTP2: h2,
	}
	b.Cleanup(tr.CloseIdleConnections)
	return &http.Client{
		Transport: tr, Timeout: 2 * time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// recorded waits until n records are there and returns them.
func (b *bed) recorded(n int) []audit.Record {
	b.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		b.mu.Lock()
		records := slices.Clone(b.records)
		b.mu.Unlock()
		if len(records) >= n {
			return records
		}
		if time.Now().After(deadline) {
			b.Fatalf("%d records, want %d: %+v", len(records), n, records)
		}
		time.Sleep(time.Millisecond) // polls a condition, with a deadline
	}
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func (b *bed) hostPort(host string, port uint16) guard.HostPort {
	b.Helper()
	h, err := policy.CanonicalHost(host)
	b.must(err)
	return guard.HostPort{Host: h, Port: port}
}

func mustAddrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
