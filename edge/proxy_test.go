package edge_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/boundary"
)

// echoHeaders answers with what an origin saw.
func echoHeaders(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s %s %s\n", r.Proto, r.Host, r.URL.RequestURI())
	_ = r.Header.Write(w)
}

func (b *bed) get(c *http.Client, url string) (*http.Response, string) {
	b.Helper()
	resp, err := c.Get(url)
	b.must(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	b.must(err)
	return resp, string(body)
}

// Ledger: ED-1, ED-11, ED-18
func TestInterceptedGet(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("www.allowed.test", echoHeaders)
	b.start()
	for i, h2 := range []bool{false, true} {
		resp, body := b.get(b.client(h2), "https://www.allowed.test/a?b=c")
		b.recorded(i + 1) // a record follows its answer
		if resp.StatusCode != 200 || (resp.ProtoMajor == 2) != h2 {
			t.Errorf("status %d over %s", resp.StatusCode, resp.Proto)
		}
		if issuer := resp.TLS.PeerCertificates[0].Issuer.String(); issuer != b.opts.Authority.Certificate().Subject.String() {
			t.Errorf("issuer %s", issuer)
		}
		if !strings.HasPrefix(body, resp.Proto+" www.allowed.test /a?b=c\n") {
			t.Errorf("origin saw %q", body)
		}
	}
	for i, r := range b.recorded(2) {
		want := []string{"http/1.1", "h2"}[i]
		if r.Protocol != want || r.Verdict != audit.VerdictAllow || r.Host != "www.allowed.test" || r.Port != 443 ||
			r.Path != "/a" || r.Status != 200 || r.BytesDown == 0 || r.Address == "" || r.Boundary != boxID || r.Rule != 1 {
			t.Errorf("record %+v", r)
		}
	}
}

// Ledger: ED-15, SI-6
func TestPlainGet(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.originHTTP("www.allowed.test", 80, echoHeaders)
	b.start()
	resp, body := b.get(b.client(false), "http://www.allowed.test/a?b=c")
	if resp.StatusCode != 200 || !strings.HasPrefix(body, "HTTP/1.1 www.allowed.test /a?b=c\n") {
		t.Errorf("status %d, origin saw %q", resp.StatusCode, body)
	}
	resp, _ = b.get(b.client(false), "http://denied.allowed.test/")
	if resp.StatusCode != 403 || resp.Header.Get("X-Edge-Reason") != "network_policy_denied" ||
		!strings.Contains(resp.Status, "Sallyport") {
		t.Errorf("status %q, reason %q", resp.Status, resp.Header.Get("X-Edge-Reason"))
	}
}

// Ledger: ED-23
func TestDeniedConnect(t *testing.T) {
	t.Parallel()
	b := newBed(t).start()
	k := b.dial(b.proxy)
	k.send("CONNECT denied.test:443 HTTP/1.1\r\nHost: denied.test:443\r\n\r\n\x16\x03\x01 early")
	resp, body := k.response("GET")
	if resp.StatusCode != 403 || resp.Header.Get("X-Edge-Decision") != "deny" || !strings.Contains(body, `"network_policy_denied"`) {
		t.Errorf("%v %q", resp, body)
	}
	k.ended()
	if r := b.recorded(1)[0]; r.Verdict != audit.VerdictDeny || r.Host != "denied.test" || r.Method != "CONNECT" || r.Status != 403 {
		t.Errorf("record %+v", r)
	}
}

// Ledger: ED-2, ED-4 Case: B39
func TestIdentity(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.originHTTP("www.allowed.test", 80, echoHeaders)
	b.start()
	b.put(boundary.Spec{ID: "other", TokenSHA256: boundary.TokenDigest([]byte("other-token"))}, `{"version":"v1","rules":[]}`)
	shared := b.serveProxy("")
	const get = "GET http://www.allowed.test/ HTTP/1.1\r\nHost: www.allowed.test\r\n"
	cases := []struct {
		name, addr, auth string
		status           int
	}{
		{"own listener", b.proxy, "", 200},
		{"own listener, own token", b.proxy, basic(boxID, token), 200},
		{"own listener, other's token", b.proxy, basic("other", "other-token"), 407},
		{"own listener, wrong token", b.proxy, basic(boxID, "x"), 407},
		{"shared, none", shared, "", 407},
		{"shared, right", shared, basic(boxID, token), 200},
		{"shared, lower case scheme", shared, strings.Replace(basic(boxID, token), "Basic", "basic", 1), 200},
		{"shared, wrong token", shared, basic(boxID, "x"), 407},
		{"shared, empty token", shared, basic(boxID, ""), 407},
		{"shared, unknown id", shared, basic("nobody", token), 407},
		{"shared, no colon", shared, "Basic Ym94", 407},
		{"shared, bearer", shared, "Bearer " + token, 407},
		{"shared, of the other", shared, basic("other", "other-token"), 403},
	}
	for _, c := range cases {
		k := b.dial(c.addr)
		auth := ""
		if c.auth != "" {
			auth = "Proxy-Authorization: " + c.auth + "\r\n"
		}
		// Twice: each request of a connection proves itself anew.
		k.send(get + auth + "\r\n" + get + "\r\n")
		resp, _ := k.response("GET")
		if resp.StatusCode != c.status || (resp.StatusCode == 407) != (resp.Header.Get("Proxy-Authenticate") != "") {
			t.Errorf("%s: status %d, challenge %q", c.name, resp.StatusCode, resp.Header.Get("Proxy-Authenticate"))
		}
		second, _ := k.response("GET")
		want := 407
		if c.addr == b.proxy {
			want = 200
		}
		if second.StatusCode != want {
			t.Errorf("%s: second request without credentials: status %d, want %d", c.name, second.StatusCode, want)
		}
	}
}

// Case: A36
func TestConnectAfterChallenge(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("www.allowed.test", echoHeaders)
	b.start()
	k := b.dial(b.serveProxy(""))
	k.send("CONNECT www.allowed.test:443 HTTP/1.1\r\nHost: www.allowed.test:443\r\n\r\n")
	if resp, _ := k.response("CONNECT"); resp.StatusCode != 407 || resp.Close || resp.ContentLength <= 0 {
		t.Fatalf("status %d, close %v, length %d", resp.StatusCode, resp.Close, resp.ContentLength)
	}
}

// Ledger: ED-4, NP-27
func TestUnknownBoundary(t *testing.T) {
	t.Parallel()
	b := newBed(t).start()
	b.proxy = b.serveProxy("nobody")
	for _, req := range []string{
		"CONNECT www.allowed.test:443 HTTP/1.1\r\nHost: www.allowed.test:443\r\n\r\n",
		"GET http://www.allowed.test/ HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n",
	} {
		k := b.dial(b.proxy)
		k.send(req)
		if resp, _ := k.response("GET"); resp.StatusCode != 407 {
			t.Errorf("status %d, want 407", resp.StatusCode)
		}
	}
}

// Each of these is turned down before anything is dialled: there is no origin.
func TestTurnedDown(t *testing.T) {
	t.Parallel()
	b := newBed(t).start()
	cases := []struct {
		name, req string
		status    int
		reason    string
	}{
		{"port 25", "CONNECT www.allowed.test:25 HTTP/1.1\r\nHost: www.allowed.test:25\r\n\r\n", 403, "port_denied"}, // Ledger: ED-9
		{"other host field", "CONNECT www.allowed.test:443 HTTP/1.1\r\nHost: denied.test:443\r\n\r\n", 421, "host_mismatch"},
		{"address", "CONNECT 192.0.2.1:443 HTTP/1.1\r\nHost: 192.0.2.1:443\r\n\r\n", 403, "network_policy_denied"}, // Ledger: ED-8
		{"odd address", "CONNECT 127.1:443 HTTP/1.1\r\nHost: 127.1:443\r\n\r\n", 400, "bad_host"},
		{"empty label", "CONNECT a..allowed.test:443 HTTP/1.1\r\nHost: a..allowed.test:443\r\n\r\n", 400, "bad_host"},
		{"https in cleartext", "GET https://bound.allowed.test/ HTTP/1.1\r\nHost: bound.allowed.test\r\n\r\n", 400, "bad_request"}, // Case: A17
		{"ftp", "GET ftp://www.allowed.test/ HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n", 400, "bad_request"},
		{"host disagrees", "GET http://www.allowed.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n", 421, "host_mismatch"}, // Case: A16
		{"host disagrees, swapped", "GET http://denied.test/ HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n", 421, "host_mismatch"},
		{"port disagrees", "GET http://www.allowed.test/ HTTP/1.1\r\nHost: www.allowed.test:81\r\n\r\n", 421, "host_mismatch"},
		{"not a proxy request", "GET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n", 400, "bad_request"},
		{"h2c", "GET http://www.allowed.test/ HTTP/1.1\r\nHost: www.allowed.test\r\nUpgrade: h2c\r\n\r\n", 400, "bad_request"}, // Case: A32
		{"trace", "TRACE http://www.allowed.test/ HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n", 403, "protocol_denied"},
		{"userinfo", "GET http://www.allowed.test@evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", 400, "bad_request"},                                                            // Case: B35
		{"smuggling", "POST http://www.allowed.test/ HTTP/1.1\r\nHost: www.allowed.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "bad_request"}, // Case: A12
	}
	for i, c := range cases {
		k := b.dial(b.proxy)
		k.send(c.req)
		resp, _ := k.response("GET")
		if resp.StatusCode != c.status || resp.Header.Get("X-Edge-Reason") != c.reason {
			t.Errorf("%s: %d %s, want %d %s", c.name, resp.StatusCode, resp.Header.Get("X-Edge-Reason"), c.status, c.reason)
		}
		r := b.recorded(i + 1)[i]
		if r.Verdict != audit.VerdictDeny || r.Reason != c.reason || r.Address != "" {
			t.Errorf("%s: record %+v", c.name, r)
		}
		if (c.reason == "host_mismatch") != (r.Severity == audit.SeverityHigh) {
			t.Errorf("%s: severity %q", c.name, r.Severity)
		}
	}
}

// Ledger: ED-7
func TestPrivateAddress(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.put(boundary.Spec{ID: boxID}, `{}`)
	b.start()
	for _, target := range []string{"http://127.0.0.1:9/", "http://169.254.169.254/latest/", "http://[::1]:9/"} {
		resp, _ := b.get(b.client(false), target)
		if resp.StatusCode != 403 || resp.Header.Get("X-Edge-Reason") != "private_address" {
			t.Errorf("%s: %d %s", target, resp.StatusCode, resp.Header.Get("X-Edge-Reason"))
		}
	}
}

// Case: A37
func TestConnectAnswerIsBare(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("www.allowed.test", echoHeaders)
	b.start()
	k := b.dial(b.proxy)
	// As Python before 3.12: HTTP/1.0 and no Host; the ClientHello comes along.
	k.send("CONNECT www.allowed.test:443 HTTP/1.0\r\n\r\n")
	k.expect("HTTP/1.1 200 Connection established\r\n\r\n")
	if _, err := b.tls(k, &tls.Config{ServerName: "www.allowed.test"}); err != nil {
		t.Error(err)
	}
}

func TestProxyNeverUsesEnvironment(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:9")
	b := newBed(t)
	b.origin("www.allowed.test", echoHeaders)
	b.originHTTP("www.allowed.test", 80, echoHeaders)
	b.start()
	for _, scheme := range []string{"http", "https"} {
		u := url.URL{Scheme: scheme, Host: "www.allowed.test", Path: "/"}
		if resp, _ := b.get(b.client(false), u.String()); resp.StatusCode != 200 {
			t.Errorf("%s: status %d", scheme, resp.StatusCode)
		}
	}
}
