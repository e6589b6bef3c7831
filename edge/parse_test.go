package edge_test

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport/edge/guard"
)

// Whatever two parsers could read differently is refused before a name is
// looked up or a connection made, on every front alike.
//
// Case: A12, A15, A16, A32, B04, B09, B35
func TestAmbiguousHeadsDialNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var lookups atomic.Int32
	b.opts.Dialer = &guard.Dialer{Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
		lookups.Add(1)
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}}
	b.start()
	// {target} is the request target, in the form of the front.
	cases := map[string]string{
		"two lengths":           "POST {target} HTTP/1.1\r\nHost: www.allowed.test\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
		"length list":           "POST {target} HTTP/1.1\r\nHost: www.allowed.test\r\nContent-Length: 1, 1\r\n\r\nx",
		"length sign":           "POST {target} HTTP/1.1\r\nHost: www.allowed.test\r\nContent-Length: +1\r\n\r\nx",
		"length negative":       "POST {target} HTTP/1.1\r\nHost: www.allowed.test\r\nContent-Length: -1\r\n\r\n",
		"length huge":           "POST {target} HTTP/1.1\r\nHost: www.allowed.test\r\nContent-Length: 18446744073709551617\r\n\r\nx",
		"length and coding":     "POST {target} HTTP/1.1\r\nHost: www.allowed.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"coding list":           "POST {target} HTTP/1.1\r\nHost: www.allowed.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"coding odd":            "POST {target} HTTP/1.1\r\nHost: www.allowed.test\r\nTransfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
		"coding identity":       "POST {target} HTTP/1.1\r\nHost: www.allowed.test\r\nTransfer-Encoding: identity\r\n\r\n",
		"coding empty":          "POST {target} HTTP/1.1\r\nHost: www.allowed.test\r\nTransfer-Encoding:\r\n\r\n",
		"coding in 1.0":         "POST {target} HTTP/1.0\r\nHost: www.allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"folded":                "GET {target} HTTP/1.1\r\nHost: www.allowed.test\r\nX-Api-Key:\r\n secret\r\n\r\n",
		"folded first":          "GET {target} HTTP/1.1\r\n Host: www.allowed.test\r\n\r\n",
		"bare LF":               "GET {target} HTTP/1.1\nHost: www.allowed.test\n\n",
		"bare LF at the end":    "GET {target} HTTP/1.1\r\nHost: www.allowed.test\r\n\n",
		"bare CR":               "GET {target} HTTP/1.1\r\nHost: www.allowed.test\r\nX: a\rHost: evil.test\r\n\r\n",
		"NUL":                   "GET {target} HTTP/1.1\r\nHost: www.allowed.test\r\nX: a\x00b\r\n\r\n",
		"two hosts":             "GET {target} HTTP/1.1\r\nHost: www.allowed.test\r\nHost: www.allowed.test\r\n\r\n",
		"no host":               "GET {target} HTTP/1.1\r\nX: a\r\n\r\n",
		"userinfo":              "GET {target} HTTP/1.1\r\nHost: a@www.allowed.test\r\n\r\n",
		"brackets":              "GET {target} HTTP/1.1\r\nHost: [www.allowed.test]\r\n\r\n",
		"zone":                  "GET {target} HTTP/1.1\r\nHost: [fe80::1%25lo]\r\n\r\n",
		"space before colon":    "GET {target} HTTP/1.1\r\nHost: www.allowed.test\r\nX : a\r\n\r\n",
		"no name":               "GET {target} HTTP/1.1\r\nHost: www.allowed.test\r\n: a\r\n\r\n",
		"no colon":              "GET {target} HTTP/1.1\r\nHost: www.allowed.test\r\nX\r\n\r\n",
		"h2c":                   "GET {target} HTTP/1.1\r\nHost: www.allowed.test\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
		"h2c settings":          "GET {target} HTTP/1.1\r\nHost: www.allowed.test\r\nConnection: HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
		"two spaces":            "GET  {target} HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n",
		"space in target":       "GET {target} x HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n",
		"tab in request line":   "GET\t{target} HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n",
		"version":               "GET {target} HTTP/1.2\r\nHost: www.allowed.test\r\n\r\n",
		"version case":          "GET {target} http/1.1\r\nHost: www.allowed.test\r\n\r\n",
		"fragment":              "GET {target}#x HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n",
		"two proxy credentials": "GET {target} HTTP/1.1\r\nHost: www.allowed.test\r\nProxy-Authorization: Basic eA==\r\nProxy-Authorization: Basic eQ==\r\n\r\n",
	}
	fronts := map[string]struct {
		target string
		open   func() *raw
	}{
		"proxy":       {"http://www.allowed.test/", func() *raw { return b.dial(b.proxy) }},
		"tunnel":      {"/", func() *raw { return b.inside("www.allowed.test") }},
		"transparent": {"/", func() *raw { return b.redirect("203.0.113.66:80") }},
	}
	for name, text := range cases {
		for front, f := range fronts {
			if front == "transparent" && (strings.HasPrefix(text, "GET\t") || strings.HasPrefix(text, "GET  ")) {
				continue // not taken for HTTP, so nothing to answer
			}
			k := f.open()
			k.send(strings.ReplaceAll(text, "{target}", f.target))
			resp, _ := k.response("GET")
			if resp.StatusCode != 400 {
				t.Errorf("%s, %s: status %d", front, name, resp.StatusCode)
			}
			// A host that is none has one reading at least: the connection stays.
			if resp.Header.Get("X-Edge-Reason") != "bad_host" {
				k.ended()
			}
			k.Close()
		}
	}
	if n := lookups.Load(); n != 0 {
		t.Errorf("%d names were looked up", n)
	}
	for _, r := range b.recorded(1) {
		if r.Address != "" {
			t.Errorf("record %+v", r)
		}
	}
}
