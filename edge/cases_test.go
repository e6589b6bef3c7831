package edge_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/edge"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/guard"
)

// An IPv6 literal that a rule allows and the operator has pinned works as any
// host: brackets in CONNECT, an IP address in the leaf, the canonical text in
// the record.
//
// Case: A19
func TestIPv6Literal(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.put(boundary.Spec{ID: boxID}, `{"version":"v1","rules":[{"match":{"host_glob":"::1"},"action":{"type":"allow"}}]}`)
	b.origin("::1", echoHeaders)
	b.start()
	k, err := b.tls(b.connect("[0:0::1]:443"), &tls.Config{ServerName: "::1"})
	b.must(err)
	k.send("GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n")
	if resp, body := k.response("GET"); resp.StatusCode != 200 || !strings.HasPrefix(body, "HTTP/1.1 [::1] /\n") {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
	if r := b.recorded(1)[0]; r.Host != "::1" {
		t.Errorf("record %+v", r)
	}
	bare := b.dial(b.proxy)
	bare.send("CONNECT ::1:443 HTTP/1.1\r\nHost: ::1:443\r\n\r\n")
	if resp, _ := bare.response("CONNECT"); resp.StatusCode != 400 {
		t.Errorf("without brackets: status %d", resp.StatusCode)
	}
}

// A refusal is an answer, not a time-out: it comes while nothing else is
// waited for, with a body of a known length, and the end.
//
// Case: B18, B21
func TestRefusalIsImmediate(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	// A refusal that waits for anything would wait for an hour.
	b.opts.Timeouts = edge.Timeouts{Header: time.Hour, Handshake: time.Hour, Dial: time.Hour, ResponseHeader: time.Hour, Idle: time.Hour, ServerFirst: time.Hour}
	b.start()
	for target, reason := range map[string]string{
		"denied.test:443":     "network_policy_denied",
		"www.allowed.test:25": "port_denied", // every other port of an allowed host is open (decision 4)
	} {
		k := b.dial(b.proxy)
		k.send("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n")
		if resp, body := k.response("CONNECT"); resp.StatusCode != 403 || resp.ContentLength != int64(len(body)) || !strings.Contains(body, reason) {
			t.Errorf("%s: %d, length %d, %q", target, resp.StatusCode, resp.ContentLength, body)
		}
		k.ended()
	}
}

// There are no rules on paths; what a client sends arrives as the same bytes,
// so that an origin's own rules see what was meant.
//
// Case: B37
func TestTargetsArriveAsSent(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.originFor(false, "www.allowed.test", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RequestURI) })
	b.start()
	k := b.inside("www.allowed.test")
	for _, target := range []string{
		"/v1/models/../secrets", "/v1/%6dodels", "/v1/models%2f..%2fx", "/v1/models%2F..%2Fx", "//v1/models", "/v1/models;x", "/v1//models/",
		"/.", "/?", "/?a=b;c&d=%zz", "/a%20b+c", "/%c3%28", "/a:b@c", "/!$&'()*+,;=",
	} {
		k.send("GET " + target + " HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n")
		if resp, body := k.response("GET"); resp.StatusCode != 200 || body != target {
			t.Errorf("%s: %d, arrived as %s", target, resp.StatusCode, body)
		}
	}
}

// A crowd of clients that send next to nothing, and heads of any size, are
// nobody else's concern.
//
// Case: A41
func TestCrowdOfSlowClients(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("www.allowed.test", echoHeaders)
	b.start()
	for i := range 300 {
		k := b.dial(b.proxy)
		k.send("GET http://www.allowed.test/ HTTP/1.1\r\nX: "[:1+i%40])
	}
	for name, text := range map[string]string{
		"5 MiB":        "X: " + strings.Repeat("a", 5<<20) + "\r\n",
		"20,000 lines": strings.Repeat("X: y\r\n", 20000),
		"one line":     strings.Repeat("a", 5<<20),
	} {
		k := b.dial(b.proxy)
		_, _ = io.WriteString(k.Conn, "GET http://www.allowed.test/ HTTP/1.1\r\nHost: www.allowed.test\r\n"+text) // may break off
		if resp, err := http.ReadResponse(k.br, nil); err != nil || resp.StatusCode != 431 {
			t.Errorf("%s: %v, error %v", name, resp, err)
		}
	}
	if resp, _ := b.get(b.client(true), originURL); resp.StatusCode != 200 {
		t.Errorf("status %d for somebody else", resp.StatusCode)
	}
}

// The edge is no way to the edge: not to its own listeners, by whatever name,
// and so not round and round either.
//
// Case: B31
func TestOwnListenerIsNoDestination(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	own := b.listen()
	b.put(boundary.Spec{ID: boxID}, `{}`)
	addr := netip.MustParseAddrPort(own.Addr().String())
	b.opts.Dialer = &guard.Dialer{Own: []netip.AddrPort{addr}, Pins: b.pins, AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	b.pin("loop.test", 80, own)
	b.start()
	for _, target := range []string{"http://loop.test/", "http://" + addr.String() + "/"} {
		if resp, _ := b.get(b.client(false), target); resp.StatusCode != 403 || resp.Header.Get("X-Edge-Reason") != "private_address" {
			t.Errorf("%s: %d %s", target, resp.StatusCode, resp.Header.Get("X-Edge-Reason"))
		}
	}
}

// Nothing that proves who a client is, and no secret, is written anywhere.
//
// Case: A30
func TestCredentialsAreNotLogged(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var log lockedBuffer
	b.opts.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.originHTTP("www.allowed.test", 80, echoHeaders)
	b.start()
	auth := basic(boxID, token)
	for _, target := range []string{"http://www.allowed.test/", "http://denied.test/", "http://www.allowed.test@evil.test/", "ftp://x.test/"} {
		k := b.dial(b.proxy)
		host := strings.Split(target, "/")[2]
		k.send("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nProxy-Authorization: " + auth + "\r\n\r\n")
		_, body := k.response("GET")
		log.WriteString(body)
	}
	for _, r := range b.recorded(4) {
		fmt.Fprintf(&log, "%+v", r)
	}
	for _, word := range []string{token, strings.TrimPrefix(auth, "Basic "), secret1} {
		if strings.Contains(log.String(), word) {
			t.Errorf("%q is in %s", word, log.String())
		}
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) WriteString(s string) { _, _ = l.Write([]byte(s)) }

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
