package edge_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sallyport/sallyport/edge/audit"
)

// Ledger: ED-13 Case: B14, A40
func TestServerName(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("www.allowed.test", echoHeaders)
	b.start()
	cases := []struct {
		name, sni, reason string // reason empty: accepted
	}{
		{"same", "www.allowed.test", ""},
		{"other case", "WWW.Allowed.test", ""},
		{"none", "", ""},
		{"other allowed", "bound.allowed.test", "sni_mismatch"},
		{"denied", "denied.test", "sni_mismatch"},
		{"empty label", "a..test", "bad_host"},
		{"wildcard", "*.allowed.test", "bad_host"},
		{"slash", "../../etc/passwd", "bad_host"},
		{"long", strings.Repeat("a", 255), "bad_host"},
	}
	n := 0
	for _, c := range cases {
		cfg := &tls.Config{ServerName: c.sni}
		if c.sni == "" || c.sni != "www.allowed.test" {
			cfg.InsecureSkipVerify = true // a name that the certificate can't have, or none
		}
		_, err := b.tls(b.connect("www.allowed.test:443"), cfg)
		if (err == nil) != (c.reason == "") {
			t.Errorf("%s: handshake error %v", c.name, err)
		}
		if c.reason == "" {
			continue
		}
		n++
		r := b.recorded(n)[n-1]
		if r.Reason != c.reason || r.Verdict != audit.VerdictDeny || r.Host != "www.allowed.test" || !strings.Contains(err.Error(), "unrecognized name") {
			t.Errorf("%s: record %+v, error %v", c.name, r, err)
		}
	}
}

// A session that was opened for one host can't be resumed for another: no
// certificate is chosen then, so nothing of the hello may be skipped.
func TestResumedSessionIsChecked(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("www.allowed.test", echoHeaders)
	b.start()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		cache := &oneSession{}
		for i, c := range []struct{ connect, sni string }{
			{"www.allowed.test", "www.allowed.test"},
			{"www.allowed.test", "www.allowed.test"},
			{"bound.allowed.test", "www.allowed.test"},
		} {
			cfg := &tls.Config{ServerName: c.sni, ClientSessionCache: cache, MaxVersion: version}
			k, err := b.tls(b.connect(c.connect+":443"), cfg)
			if i == 2 {
				if err == nil {
					t.Errorf("version %x: session resumed on a connection for another host", version)
				}
				continue
			}
			b.must(err)
			if resumed := k.Conn.(*tls.Conn).ConnectionState().DidResume; resumed != (i == 1) {
				t.Errorf("version %x: connection %d resumed: %v", version, i, resumed)
			}
			k.send("GET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n") // reads the ticket
			k.response("GET")
			k.Close()
		}
	}
}

// oneSession offers its session to every server.
type oneSession struct{ s *tls.ClientSessionState }

func (o *oneSession) Get(string) (*tls.ClientSessionState, bool) { return o.s, o.s != nil }
func (o *oneSession) Put(_ string, s *tls.ClientSessionState)    { o.s = s }

// Ledger: ED-12 Case: B16, A16
func TestHostInsideTunnel(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var seen atomic.Int32
	b.origin("www.allowed.test", func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		fmt.Fprint(w, r.Host)
	})
	b.start()
	cases := []struct {
		name, req string
		status    int
		reason    string
	}{
		{"same", "GET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n", 200, ""},
		{"with port", "GET / HTTP/1.1\r\nHost: www.allowed.test:443\r\n\r\n", 200, ""},
		{"other case", "GET / HTTP/1.1\r\nHost: WWW.ALLOWED.TEST.\r\n\r\n", 200, ""},
		{"agreeing absolute form", "GET https://www.allowed.test/ HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n", 200, ""},
		{"http/1.0 without host", "GET / HTTP/1.0\r\n\r\n", 200, ""},
		{"other allowed", "GET / HTTP/1.1\r\nHost: bound.allowed.test\r\n\r\n", 421, "host_mismatch"},
		{"denied", "GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n", 421, "host_mismatch"},
		{"other port", "GET / HTTP/1.1\r\nHost: www.allowed.test:444\r\n\r\n", 421, "host_mismatch"},
		{"empty", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400, "bad_host"},
		{"absolute form hides host", "GET https://www.allowed.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n", 421, "host_mismatch"},
		{"other absolute form", "GET https://denied.test/ HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n", 421, "host_mismatch"},
		{"absolute form of other scheme", "GET http://www.allowed.test/ HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n", 400, "bad_request"},
		{"nested connect", "CONNECT denied.test:443 HTTP/1.1\r\nHost: denied.test:443\r\n\r\n", 400, "bad_request"},
		{"trace", "TRACE / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n", 403, "protocol_denied"},
	}
	allowed := int32(0)
	for _, c := range cases {
		k := b.inside("www.allowed.test")
		k.send(c.req)
		resp, body := k.response("GET")
		if resp.StatusCode != c.status || resp.Header.Get("X-Edge-Reason") != c.reason {
			t.Errorf("%s: %d %s, want %d %s", c.name, resp.StatusCode, resp.Header.Get("X-Edge-Reason"), c.status, c.reason)
		}
		if c.status == 200 {
			allowed++
			if body != "www.allowed.test" {
				t.Errorf("%s: origin saw Host %q", c.name, body)
			}
			continue
		}
		if c.reason == "host_mismatch" {
			k.ended()
		}
	}
	if seen.Load() != allowed {
		t.Errorf("origin saw %d requests, want %d", seen.Load(), allowed)
	}
	// A pipelined request is judged like any other, and ends the connection.
	k := b.inside("www.allowed.test")
	k.send("GET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\nGET / HTTP/1.1\r\nHost: denied.test\r\n\r\nGET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n")
	for _, want := range []int{200, 421} {
		if resp, _ := k.response("GET"); resp.StatusCode != want {
			t.Errorf("pipelined: status %d, want %d", resp.StatusCode, want)
		}
	}
	k.ended()
	if seen.Load() != allowed+1 {
		t.Errorf("origin saw %d requests, want %d", seen.Load(), allowed+1)
	}
}

// Case: B15
func TestAuthorityOfStreams(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var seen atomic.Int32
	b.origin("www.allowed.test", func(w http.ResponseWriter, r *http.Request) { seen.Add(1) })
	b.origin("bound.allowed.test", func(w http.ResponseWriter, r *http.Request) {
		t.Error("a stream on the connection to another host arrived")
	})
	b.start()
	cases := []struct {
		name   string
		fields []hpack.HeaderField
		status string
	}{
		{"same", []hpack.HeaderField{{Name: ":authority", Value: "www.allowed.test"}}, "200"},
		{"same, and host", []hpack.HeaderField{{Name: ":authority", Value: "www.allowed.test"}, {Name: "host", Value: "www.allowed.test"}}, "200"},
		{"host only", []hpack.HeaderField{{Name: "host", Value: "www.allowed.test"}}, "200"},
		{"other", []hpack.HeaderField{{Name: ":authority", Value: "bound.allowed.test"}}, "421"},
		{"host differs", []hpack.HeaderField{{Name: ":authority", Value: "www.allowed.test"}, {Name: "host", Value: "bound.allowed.test"}}, "421"},
		{"other host only", []hpack.HeaderField{{Name: "host", Value: "bound.allowed.test"}}, "421"},
	}
	for _, c := range cases {
		k, err := b.tls(b.connect("www.allowed.test:443"), &tls.Config{ServerName: "www.allowed.test", NextProtos: []string{"h2"}})
		b.must(err)
		if status := h2Get(k, c.fields); status != c.status {
			t.Errorf("%s: status %s, want %s", c.name, status, c.status)
		}
	}
	if seen.Load() != 3 {
		t.Errorf("origin saw %d streams, want 3", seen.Load())
	}
}

// h2Get sends one request with exactly these fields and returns the status.
func h2Get(k *raw, fields []hpack.HeaderField) string {
	k.send(http2.ClientPreface)
	fr := http2.NewFramer(k.Conn, k.br)
	fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := fr.WriteSettings(); err != nil {
		k.Fatal(err)
	}
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, f := range append([]hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":path", Value: "/"},
	}, fields...) {
		_ = enc.WriteField(f)
	}
	err := fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
	if err != nil {
		k.Fatal(err)
	}
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			k.Fatal(err)
		}
		if h, ok := f.(*http2.MetaHeadersFrame); ok {
			return h.PseudoValue("status")
		}
		if r, ok := f.(*http2.RSTStreamFrame); ok {
			return r.ErrCode.String()
		}
	}
}

// Ledger: ED-14
func TestUpstreamIsVerified(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var seen atomic.Int32
	count := func(http.ResponseWriter, *http.Request) { seen.Add(1) }
	b.origin("www.allowed.test", count)
	// The same origin by another name shows a certificate that isn't its own.
	b.pins[b.hostPort("wrong.allowed.test", 443)] = b.pins[b.hostPort("www.allowed.test", 443)]
	// And one of an authority that nobody trusts.
	stranger := b.authority()
	trusted := b.origins
	b.origins = stranger
	b.origin("self.allowed.test", count)
	b.origins = trusted
	b.start()
	for _, host := range []string{"wrong.allowed.test", "self.allowed.test"} {
		resp, body := b.get(b.client(true), "https://"+host+"/")
		if resp.StatusCode != 502 || resp.Header.Get("X-Edge-Reason") != "upstream_tls_error" {
			t.Errorf("%s: %d %s", host, resp.StatusCode, resp.Header.Get("X-Edge-Reason"))
		}
		if strings.Contains(body, "x509") || strings.Contains(body, "127.0.0.1") {
			t.Errorf("%s: the sandbox learns the cause: %s", host, body)
		}
	}
	if seen.Load() != 0 {
		t.Error("a request reached an unverified origin")
	}
}

// Case: A43
func TestOldTLSClient(t *testing.T) {
	t.Parallel()
	b := newBed(t).start()
	_, err := b.tls(b.connect("www.allowed.test:443"), &tls.Config{
		ServerName: "www.allowed.test", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
	})
	if err == nil {
		t.Fatal("TLS 1.1 accepted")
	}
	if r := b.recorded(1)[0]; r.Reason != "protocol_denied" || r.Host != "www.allowed.test" || !strings.Contains(r.Detail, "version") {
		t.Errorf("record %+v", r)
	}
}
