package edge_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/names"
)

func serverTLS() *tls.Config { return &tls.Config{NextProtos: []string{"h2", "http/1.1"}} }

func clientTLS(host string) *tls.Config { return &tls.Config{ServerName: host} }

// redirected is a listener whose connections have the local address that the
// sandbox dialled, as with IP_TRANSPARENT.
type redirected struct {
	net.Listener
	to *net.TCPAddr
}

type redirectedConn struct {
	*net.TCPConn
	to *net.TCPAddr
}

func (l redirected) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return redirectedConn{c.(*net.TCPConn), l.to}, nil
}

func (c redirectedConn) LocalAddr() net.Addr { return c.to }

// redirect opens a connection that the sandbox made to addr.
func (b *bed) redirect(addr string) *raw {
	b.Helper()
	to := net.TCPAddrFromAddrPort(mustAddrPort(addr))
	return b.dial(b.run(func(ctx context.Context, ln net.Listener) error {
		return b.edge.ServeTransparent(ctx, redirected{ln, to}, boxID)
	}))
}

// Ledger: ED-6, ED-8 Case: B34
func TestTransparentTLS(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("www.allowed.test", echoHeaders)
	b.start()
	k, err := b.tls(b.redirect("203.0.113.66:443"), clientTLS("www.allowed.test"))
	b.must(err)
	k.send("GET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n")
	if resp, _ := k.response("GET"); resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
	if r := b.recorded(1)[0]; r.Mode != audit.ModeTransparent || r.Host != "www.allowed.test" || r.Verdict != audit.VerdictAllow {
		t.Errorf("record %+v", r)
	}
	// A denied host is told why, inside TLS.
	k, err = b.tls(b.redirect("203.0.113.66:443"), clientTLS("denied.test"))
	b.must(err)
	k.send("GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n")
	if resp, _ := k.response("GET"); resp.StatusCode != 403 || resp.Header.Get("X-Edge-Reason") != "network_policy_denied" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	// No name at all.
	if _, err = b.tls(b.redirect("203.0.113.66:443"), &tls.Config{InsecureSkipVerify: true}); err == nil {
		t.Error("handshake without any name accepted")
	}
	if !slices.ContainsFunc(b.recorded(3), func(r audit.Record) bool { return r.Reason == "bad_host" }) {
		t.Error("no record of it")
	}
}

func TestTransparentHTTP(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var seen atomic.Int32
	b.originHTTP("www.allowed.test", 80, func(w http.ResponseWriter, r *http.Request) { seen.Add(1) })
	b.start()
	cases := []struct {
		name, req string
		status    int
		reason    string
	}{
		{"allowed", "GET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n", 200, ""},
		{"with port", "GET / HTTP/1.1\r\nHost: www.allowed.test:80\r\n\r\n", 200, ""},
		{"denied", "GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n", 403, "network_policy_denied"},
		{"address", "GET / HTTP/1.1\r\nHost: 203.0.113.66\r\n\r\n", 403, "network_policy_denied"},
		{"no host", "GET / HTTP/1.0\r\n\r\n", 400, "bad_host"},
		{"other port", "GET / HTTP/1.1\r\nHost: www.allowed.test:81\r\n\r\n", 421, "host_mismatch"},
		{"connect", "CONNECT www.allowed.test:443 HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n", 400, "bad_request"},
	}
	for _, c := range cases {
		k := b.redirect("203.0.113.66:80")
		k.send(c.req)
		resp, _ := k.response("GET")
		if resp.StatusCode != c.status || resp.Header.Get("X-Edge-Reason") != c.reason {
			t.Errorf("%s: %d %s, want %d %s", c.name, resp.StatusCode, resp.Header.Get("X-Edge-Reason"), c.status, c.reason)
		}
	}
	// The first Host is the connection's.
	k := b.redirect("203.0.113.66:80")
	k.send("GET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\nGET / HTTP/1.1\r\nHost: bound.allowed.test\r\n\r\n")
	for _, want := range []int{200, 421} {
		if resp, _ := k.response("GET"); resp.StatusCode != want {
			t.Errorf("status %d, want %d", resp.StatusCode, want)
		}
	}
	if seen.Load() != 3 {
		t.Errorf("origin saw %d requests, want 3", seen.Load())
	}
}

func TestTransparentOther(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.opts.Timeouts.ServerFirst, b.opts.Timeouts.Handshake = 20*time.Millisecond, 50*time.Millisecond
	b.start()
	k := b.redirect("203.0.113.66:22")
	k.send("SSH-2.0-x\r\n")
	k.ended()
	b.redirect("203.0.113.66:25").ended()
	b.redirect("203.0.113.66:110").ended() // waits for its server
	for i, want := range []struct {
		reason string
		port   uint16
	}{{"protocol_denied", 22}, {"port_denied", 25}, {"protocol_denied", 110}} {
		if r := b.recorded(i + 1)[i]; r.Reason != want.reason || r.Port != want.port || r.Verdict != audit.VerdictDeny {
			t.Errorf("record %+v, want %+v", r, want)
		}
	}
}

// Ledger: ED-6, ED-30
func TestSyntheticAddress(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.opts.Names = &names.Pool{}
	b.opts.Timeouts.ServerFirst = 20 * time.Millisecond
	b.origin("www.allowed.test", echoHeaders)
	b.rawOrigin("www.allowed.test", 22, echoLine)
	b.rawOrigin("www.allowed.test", 587, func(c net.Conn) {
		_, _ = c.Write([]byte("220 ready\n"))
		echoLine(c)
	})
	b.start()
	addr := b.resolve("www.allowed.test")

	k, err := b.tls(b.redirect(addr+":443"), &tls.Config{InsecureSkipVerify: true}) // no server name
	b.must(err)
	if leaf := k.Conn.(*tls.Conn).ConnectionState().PeerCertificates[0]; leaf.VerifyHostname("www.allowed.test") != nil {
		t.Errorf("leaf for %v", leaf.DNSNames)
	}
	k.send("GET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n")
	if resp, _ := k.response("GET"); resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
	k = b.redirect(addr + ":22")
	k.send("SSH-2.0-x\n")
	k.expect("echo SSH-2.0-x\n")
	k = b.redirect(addr + ":587")
	k.expect("220 ready\n")

	// The address means nothing to another boundary.
	if _, ok := b.opts.Names.Lookup("other", netip.MustParseAddr(addr)); ok {
		t.Error("the address is another boundary's as well")
	}
	b.put(boundary.Spec{ID: boxID}, `{"version":"v1","rules":[]}`)
	k = b.redirect(addr + ":22")
	k.send("SSH-2.0-x\n")
	k.ended()
}

// resolve asks the edge's DNS for an address, over UDP and over TCP.
func (b *bed) resolve(name string) string {
	b.Helper()
	pc, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	b.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.edge.ServeDNS(ctx, pc, boxID) }()
	b.Cleanup(func() {
		held, _ := b.opts.Names.Address(boxID, b.hostPort(name, 0).Host)
		b.table.Delete(boxID)
		cancel()
		if err := <-done; err != nil {
			b.Errorf("serve DNS: %v", err)
		}
		if _, ok := b.opts.Names.Lookup(boxID, held); ok {
			b.Error("the address of a closed boundary is still held")
		}
	})
	query := new(dns.Msg).SetQuestion(name+".", dns.TypeA)
	answer, _, err := new(dns.Client).Exchange(query, pc.LocalAddr().String())
	b.must(err)
	if len(answer.Answer) != 1 {
		b.Fatalf("answer %v", answer)
	}
	tcp := &dns.Conn{Conn: b.redirect("192.0.2.53:53").Conn}
	b.must(tcp.WriteMsg(query))
	again, err := tcp.ReadMsg()
	b.must(err)
	if again.Answer[0].String() != answer.Answer[0].String() {
		b.Errorf("%v over TCP, %v over UDP", again.Answer, answer.Answer)
	}
	return answer.Answer[0].(*dns.A).A.String()
}
