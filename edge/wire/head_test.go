package wire_test

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/edge/wire"
)

// head joins lines into a head.
func head(lines ...string) string { return strings.Join(lines, "\r\n") + "\r\n\r\n" }

var headCases = []struct {
	name   string
	raw    string
	proxy  bool
	status int // 0: accepted
}{
	{"plain", head("GET / HTTP/1.1", "Host: a.test"), false, 0},
	{"options asterisk", head("OPTIONS * HTTP/1.1", "Host: a.test"), false, 0},
	{"http/1.0 without host", head("GET / HTTP/1.0"), false, 0},
	{"http/1.0 connect without host", head("CONNECT a.test:443 HTTP/1.0"), true, 0},
	{"absolute form", head("GET http://a.test/x?y HTTP/1.1", "Host: a.test"), true, 0},
	{"connect", head("CONNECT a.test:443 HTTP/1.1", "Host: a.test:443"), true, 0},
	{"connect ipv6", head("CONNECT [::1]:443 HTTP/1.1", "Host: [::1]:443"), true, 0},
	{"tabs and latin in a value", head("GET / HTTP/1.1", "Host: a.test", "X:\ta\tb \xe9"), false, 0},
	{"expect", head("POST / HTTP/1.1", "Host: a.test", "Content-Length: 1", "Expect: 100-Continue"), false, 0},

	// Case: A12
	{"length with chunked", head("POST / HTTP/1.1", "Host: a.test", "Content-Length: 4", "Transfer-Encoding: chunked"), false, 400},
	{"two lengths", head("POST / HTTP/1.1", "Host: a.test", "Content-Length: 4", "Content-Length: 4"), false, 400},
	{"length list", head("POST / HTTP/1.1", "Host: a.test", "Content-Length: 4, 4"), false, 400},
	{"length with sign", head("POST / HTTP/1.1", "Host: a.test", "Content-Length: +4"), false, 400},
	{"length too large", head("POST / HTTP/1.1", "Host: a.test", "Content-Length: 99999999999999999999"), false, 400},
	{"empty length", head("POST / HTTP/1.1", "Host: a.test", "Content-Length:"), false, 400},
	{"two codings", head("POST / HTTP/1.1", "Host: a.test", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), false, 400},
	{"gzip, chunked", head("POST / HTTP/1.1", "Host: a.test", "Transfer-Encoding: gzip, chunked"), false, 400},
	{"identity", head("POST / HTTP/1.1", "Host: a.test", "Transfer-Encoding: identity"), false, 400},
	{"vertical tab in coding", head("POST / HTTP/1.1", "Host: a.test", "Transfer-Encoding: \x0bchunked"), false, 400},
	{"chunked in http/1.0", head("POST / HTTP/1.0", "Host: a.test", "Transfer-Encoding: chunked"), false, 400},
	// Case: A15
	{"folded field", head("GET / HTTP/1.1", "Host: a.test", "X-Api-Key:", " value"), false, 400},
	{"folded by a tab", head("GET / HTTP/1.1", "Host: a.test", "X-Api-Key: a", "\tb"), false, 400},
	{"folded first line", head("GET / HTTP/1.1", " Host: a.test"), false, 400},
	// Case: A16
	{"two hosts", head("GET / HTTP/1.1", "Host: a.test", "Host: b.test"), false, 400},
	{"two equal hosts", head("GET / HTTP/1.1", "Host: a.test", "host: a.test"), false, 400},
	{"no host", head("GET / HTTP/1.1"), false, 400},
	{"host with userinfo", head("GET / HTTP/1.1", "Host: a.test@b.test"), false, 400},
	{"host list", head("GET / HTTP/1.1", "Host: a.test, b.test"), false, 400},
	{"host with path", head("GET / HTTP/1.1", "Host: a.test/b"), false, 400},
	// Case: A18
	{"connect without port", head("CONNECT a.test HTTP/1.1", "Host: a.test"), true, 400},
	{"connect to a path", head("CONNECT /x HTTP/1.1", "Host: a.test"), true, 400},
	{"connect to bare ipv6", head("CONNECT ::1:443 HTTP/1.1", "Host: a.test"), true, 400},
	{"connect with empty port", head("CONNECT a.test: HTTP/1.1", "Host: a.test"), true, 400},
	{"connect to port 0", head("CONNECT a.test:0 HTTP/1.1", "Host: a.test"), true, 400},
	{"connect to port 99999", head("CONNECT a.test:99999 HTTP/1.1", "Host: a.test"), true, 400},
	{"connect to a named port", head("CONNECT a.test:https HTTP/1.1", "Host: a.test"), true, 400},
	{"connect to port 0443", head("CONNECT a.test:0443 HTTP/1.1", "Host: a.test"), true, 400},
	{"connect to a url", head("CONNECT http://a.test:443 HTTP/1.1", "Host: a.test"), true, 400},
	{"connect in lower case", head("connect a.test:443 HTTP/1.1", "Host: a.test"), true, 400},
	{"connect with a body", head("CONNECT a.test:443 HTTP/1.1", "Host: a.test", "Content-Length: 3"), true, 400},
	{"connect in a tunnel", head("CONNECT a.test:443 HTTP/1.1", "Host: a.test"), false, 400},
	{"zone", head("CONNECT [fe80::1%25eth0]:80 HTTP/1.1", "Host: a.test"), true, 400},
	// Case: B35
	{"connect with userinfo", head("CONNECT allowed.test:443@evil.test:443 HTTP/1.1", "Host: evil.test"), true, 400},
	{"absolute form with userinfo", head("GET http://allowed.test@evil.test/ HTTP/1.1", "Host: evil.test"), true, 400},
	{"absolute form with backslash", head(`GET http://a.test\@b.test/ HTTP/1.1`, "Host: b.test"), true, 400},
	{"absolute form without authority", head("GET http:///x HTTP/1.1", "Host: b.test"), true, 400},
	// Case: A32
	{"upgrade to h2c", head("GET / HTTP/1.1", "Host: a.test", "Connection: Upgrade", "Upgrade: h2c"), true, 400},
	{"upgrade list with h2c", head("GET / HTTP/1.1", "Host: a.test", "Upgrade: websocket, H2C"), true, 400},
	{"http2 settings", head("GET / HTTP/1.1", "Host: a.test", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"), true, 400},
	{"http/2 preface", head("PRI * HTTP/2.0"), true, 505},
	// Case: B39
	{"two credentials", head("GET http://a.test/ HTTP/1.1", "Host: a.test", "Proxy-Authorization: Basic YQ==", "Proxy-Authorization: Basic Yg=="), true, 400},

	{"bare lf after request line", "GET / HTTP/1.1\nHost: a.test\r\n\r\n", false, 400},
	{"bare lf after field", "GET / HTTP/1.1\r\nHost: a.test\nX: y\r\n\r\n", false, 400},
	{"bare lf at the end", "GET / HTTP/1.1\r\nHost: a.test\r\n\n", false, 400},
	{"bare cr in field", "GET / HTTP/1.1\r\nHost: a.test\r\nX: a\rY: b\r\n\r\n", false, 400},
	{"nul in field", head("GET / HTTP/1.1", "Host: a.test", "X: a\x00b"), false, 400},
	{"nul in target", head("GET /\x00 HTTP/1.1", "Host: a.test"), false, 400},
	{"leading empty line", "\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n", false, 400},
	{"space before colon", head("GET / HTTP/1.1", "Host : a.test"), false, 400},
	{"field without colon", head("GET / HTTP/1.1", "Host: a.test", "X"), false, 400},
	{"empty field name", head("GET / HTTP/1.1", "Host: a.test", ": x"), false, 400},
	{"two spaces", head("GET  / HTTP/1.1", "Host: a.test"), false, 400},
	{"tab for space", head("GET\t/ HTTP/1.1", "Host: a.test"), false, 400},
	{"space in target", head("GET /a b HTTP/1.1", "Host: a.test"), false, 400},
	{"fragment", head("GET /a#b HTTP/1.1", "Host: a.test"), false, 400},
	{"http/0.9", head("GET /"), false, 400},
	{"http/1.2", head("GET / HTTP/1.2", "Host: a.test"), false, 400},
	{"lower-case version", head("GET / http/1.1", "Host: a.test"), false, 400},
	{"asterisk for get", head("GET * HTTP/1.1", "Host: a.test"), false, 400},
	{"unknown expectation", head("GET / HTTP/1.1", "Host: a.test", "Expect: more"), false, 417},
	{"bad escape in target", head("GET /%zz HTTP/1.1", "Host: a.test"), false, 400},
	{"large head", head("GET / HTTP/1.1", "Host: a.test", "X: "+strings.Repeat("a", 65<<10)), false, 431},
	{"many fields", head("GET / HTTP/1.1", "Host: a.test"+strings.Repeat("\r\nX: y", 600)), false, 431},
}

// Ledger: ED-12, ED-23
func TestHead(t *testing.T) {
	t.Parallel()
	for _, c := range headCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status := 0
			_, err := wire.ParseHead([]byte(c.raw), c.proxy)
			var bad *wire.Error
			if errors.As(err, &bad) {
				status = bad.Status
			} else if err != nil {
				t.Fatal(err)
			}
			if status != c.status {
				t.Errorf("status %d (%v), want %d", status, err, c.status)
			}
		})
	}
}

func TestHeadKeepsHostBesideAbsoluteForm(t *testing.T) {
	t.Parallel()
	raw := head("GET http://a.test/ HTTP/1.1", "Host: b.test")
	r, err := wire.ParseHead([]byte(raw), true)
	if err != nil {
		t.Fatal(err)
	}
	if r.Host != "a.test" || r.Header.Get("Host") != "b.test" {
		t.Errorf("Host %q, field %q; want both names", r.Host, r.Header.Get("Host"))
	}
}

// FuzzHead: whatever is accepted, net/http reads the same way from the whole
// input: method, target, host, fields, framing, and where the head ends.
func FuzzHead(f *testing.F) {
	for _, c := range headCases {
		f.Add([]byte(c.raw), c.proxy)
	}
	f.Fuzz(func(t *testing.T, raw []byte, proxy bool) {
		got, err := wire.ParseHead(raw, proxy)
		if err != nil {
			return
		}
		end := bytes.Index(raw, []byte("\r\n\r\n")) + 4
		src := bytes.NewReader(raw)
		br := bufio.NewReader(src)
		want, err := http.ReadRequest(br)
		if err != nil {
			t.Fatalf("accepted %q, net/http says %v", raw, err)
		}
		if rest := br.Buffered() + src.Len(); rest != len(raw)-end {
			t.Fatalf("%q: net/http leaves %d bytes, want %d", raw, rest, len(raw)-end)
		}
		same := got.Method == want.Method && got.RequestURI == want.RequestURI && got.Host == want.Host &&
			got.ContentLength == want.ContentLength && got.Proto == want.Proto &&
			len(got.TransferEncoding) == len(want.TransferEncoding)
		delete(got.Header, "Host")
		if !same || len(got.Header) != len(want.Header) {
			t.Fatalf("%q: read as %+v, net/http reads %+v", raw, got, want)
		}
		if strings.ContainsAny(got.RequestURI, " #") || strings.Contains(got.Host, "@") {
			t.Fatalf("%q: target %q, host %q", raw, got.RequestURI, got.Host)
		}
		lines := bytes.Count(raw[:end], []byte("\r\n"))
		if lines != bytes.Count(raw[:end], []byte("\n")) || lines != bytes.Count(raw[:end], []byte("\r")) {
			t.Fatalf("%q: bare CR or LF accepted", raw)
		}
	})
}
