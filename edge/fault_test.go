package edge_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/edge"
	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/guard"
)

// Ledger: ED-24, ED-25
func TestUpstreamFaults(t *testing.T) {
	t.Parallel()
	patient := newBed(t)
	faults(patient)
	patient.expectFaults([]upstreamFault{
		{"http://closed.allowed.test/", 502, "upstream_dial_error"},
		{"http://unknown.allowed.test/", 502, "upstream_dial_error"},
		{"http://private.allowed.test/", 403, "private_address"},
		{"https://plain.allowed.test/", 502, "upstream_tls_error"},
		{"http://garbage.allowed.test/", 502, "upstream_protocol_error"},
		{"http://hangup.allowed.test/", 502, "upstream_protocol_error"},
		{"http://huge.allowed.test/", 502, "upstream_protocol_error"},
	})
	// What never answers is given up, however busy the machine is.
	hasty := newBed(t)
	hasty.opts.Timeouts = edge.Timeouts{Dial: 200 * time.Millisecond, Handshake: 2 * time.Second, ResponseHeader: 200 * time.Millisecond}
	faults(hasty)
	hasty.expectFaults([]upstreamFault{
		{"http://slow.allowed.test/", 504, "upstream_timeout"},
		{"http://silent.allowed.test/", 504, "upstream_timeout"},
		{"https://silent.allowed.test/", 504, "upstream_timeout"},
	})
}

// An upstreamFault is how a request fails at a faulty origin.
type upstreamFault struct {
	url    string
	status int
	reason string
}

// faults starts an edge before origins each of which is broken in its own way.
func faults(b *bed) {
	b.opts.Dialer = &guard.Dialer{Pins: b.pins, Lookup: func(ctx context.Context, name string) ([]netip.Addr, error) {
		switch name {
		case "slow.allowed.test":
			<-ctx.Done()
			return nil, ctx.Err()
		case "private.allowed.test":
			return []netip.Addr{netip.MustParseAddr("10.0.0.5")}, nil
		}
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}}
	silent := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	says := func(answer string) func(net.Conn) {
		return func(c net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, answer)
		}
	}
	closed := b.listen()
	b.pin("closed.allowed.test", 80, closed)
	closed.Close()
	b.rawOrigin("silent.allowed.test", 80, silent)
	b.rawOrigin("silent.allowed.test", 443, silent)
	b.rawOrigin("plain.allowed.test", 443, says("HTTP/1.1 400 Bad Request\r\n\r\n"))
	b.rawOrigin("garbage.allowed.test", 80, says("SSH-2.0-x\r\n\r\n"))
	b.rawOrigin("hangup.allowed.test", 80, says(""))
	b.rawOrigin("huge.allowed.test", 80, says("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("a", 1<<20)+"\r\n\r\n"))
	b.start()
}

// expectFaults makes each request and checks the answer and its record.
func (b *bed) expectFaults(cases []upstreamFault) {
	b.Helper()
	for i, c := range cases {
		resp, body := b.get(b.client(false), c.url)
		if resp.StatusCode != c.status || resp.Header.Get("X-Edge-Reason") != c.reason {
			b.Errorf("%s: %d %s, want %d %s", c.url, resp.StatusCode, resp.Header.Get("X-Edge-Reason"), c.status, c.reason)
		}
		for _, secret := range []string{"127.0.0.1", "10.0.0.5", "refused:", "such host", "SSH-2.0"} {
			if strings.Contains(body, secret) {
				b.Errorf("%s: the sandbox is shown %q: %s", c.url, secret, body)
			}
		}
		r := b.recorded(i + 1)[i]
		verdict := audit.VerdictAllow // the policy's; the fault is in the reason
		if c.reason == "private_address" {
			verdict = audit.VerdictDeny
		}
		if r.Reason != c.reason || r.Verdict != verdict || r.Status != c.status || r.Detail == "" {
			b.Errorf("%s: record %+v", c.url, r)
		}
	}
}

// Case: A41
func TestSlowClientsAreDropped(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.opts.Timeouts = edge.Timeouts{Header: 100 * time.Millisecond, Handshake: 100 * time.Millisecond}
	b.origin("www.allowed.test", echoHeaders)
	b.start()
	head := b.dial(b.proxy)
	head.send("GET http://www.allowed.test/ HTTP/1.1\r\nHost")
	hello := b.connect("www.allowed.test:443")
	hello.send("\x16\x03\x01")
	inner := b.inside("www.allowed.test")
	inner.send("GET / HTTP/1.1\r\n")
	for _, k := range []*raw{head, hello, inner} {
		k.ended()
	}
}

// Every silent connection ends with its Serve, and none keeps it.
func TestStopWithOpenConnections(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.opts.Timeouts.ServerFirst = time.Millisecond
	b.rawOrigin("www.allowed.test", 9000, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	b.origin("www.allowed.test", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	b.start()
	ln := b.listen()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.edge.ServeProxy(ctx, ln, boxID) }()
	b.proxy = ln.Addr().String()
	b.dial(b.proxy)                                // nothing sent
	b.dial(b.proxy).send("GET http://")            // half a head
	b.connect("www.allowed.test:443")              // no hello
	b.connect("www.allowed.test:9000")             // neither side speaks
	b.connect("www.allowed.test:9000").send("*x*") // opaque
	b.inside("www.allowed.test")                   // no request
	for _, h2 := range []bool{false, true} {       // in the middle of a response
		resp, err := b.client(h2).Get("https://www.allowed.test/")
		b.must(err)
		defer resp.Body.Close()
	}
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("serve: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("serve doesn't stop")
	}
}

// A client that has gone is no fault of the upstream's.
func TestAbandonedRequest(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	started := make(chan struct{})
	b.origin("www.allowed.test", func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done() // the edge passes it on
	})
	b.start()
	k := b.inside("www.allowed.test")
	k.send("GET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n")
	<-started
	k.Close()
	if r := b.recorded(1)[0]; r.Verdict != audit.VerdictAllow || r.Reason != "allowed" || r.Status != 0 || r.Detail == "" {
		t.Errorf("record %+v", r)
	}
}

func TestNewSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	full := newBed(t).opts
	for name, unset := range map[string]func(*edge.Options){
		"certificate authority": func(o *edge.Options) { o.Authority = nil },
		"boundary table":        func(o *edge.Options) { o.Table = nil },
		"secret resolver":       func(o *edge.Options) { o.Resolver = nil },
		"audit sink":            func(o *edge.Options) { o.Audit = nil },
		"dialer":                func(o *edge.Options) { o.Dialer = nil },
	} {
		o := full
		unset(&o)
		if _, err := edge.New(o); err == nil || !strings.Contains(fmt.Sprint(err), name) {
			t.Errorf("without %s: error %v", name, err)
		}
	}
}
