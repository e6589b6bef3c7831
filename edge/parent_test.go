package edge_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/guard"
)

// parent is a real proxy: it resolves every name to an origin of the bed.
type parent struct {
	b      *bed
	mu     sync.Mutex
	asked  []string
	origin string // where every tunnel leads
}

func (p *parent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.Host)
	p.mu.Unlock()
	switch {
	case r.Header.Get("Proxy-Authorization") != basic("edge", "pass word"):
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	case r.Host == "forbidden.allowed.test:443":
		w.WriteHeader(http.StatusForbidden)
		return
	case r.Host == "slow.allowed.test:443":
		w.WriteHeader(http.StatusGatewayTimeout)
		return
	}
	up, err := net.Dial("tcp", p.origin)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer up.Close()
	w.WriteHeader(http.StatusOK)
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		p.b.Error(err)
		return
	}
	defer conn.Close()
	go func() { _, _ = io.Copy(up, rw); up.Close() }()
	_, _ = io.Copy(conn, up)
}

func TestParentProxy(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := &parent{b: b}
	b.origin("www.allowed.test", echoHeaders)
	b.origin("pinned.allowed.test", echoHeaders)
	p.origin = b.pins[b.hostPort("www.allowed.test", 443)].String()
	delete(b.pins, b.hostPort("www.allowed.test", 443))
	ln := b.listen()
	srv := &http.Server{Handler: p, ErrorLog: discardLog}
	b.serve(srv, func() error { return srv.Serve(ln) })
	b.opts.Parent = &url.URL{Scheme: "http", Host: ln.Addr().String(), User: url.UserPassword("edge", "pass word")}
	b.opts.Dialer = &guard.Dialer{Pins: b.pins}
	b.put(boundary.Spec{ID: boxID}, `{"version":"v1","rules":[{"match":{"host_glob":"**.allowed.test"},"action":{"type":"allow"}},
		{"match":{"host_glob":"10.0.0.1"},"action":{"type":"allow"}}]}`)
	b.start()
	cases := []struct {
		url    string
		status int
		reason string
	}{
		{"https://www.allowed.test/", 200, ""},
		{"https://pinned.allowed.test/", 200, ""},
		{"https://forbidden.allowed.test/", 403, "parent_proxy_denied"},
		{"https://slow.allowed.test/", 504, "upstream_timeout"},
		{"https://10.0.0.1/", 403, "private_address"},
	}
	c := b.client(true)
	for _, one := range cases {
		resp, _ := b.get(c, one.url)
		if resp.StatusCode != one.status || resp.Header.Get("X-Edge-Reason") != one.reason {
			t.Errorf("%s: %d %q", one.url, resp.StatusCode, resp.Header.Get("X-Edge-Reason"))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, asked := range p.asked {
		if asked == "CONNECT pinned.allowed.test:443" || asked == "CONNECT 10.0.0.1:443" {
			t.Errorf("the parent was asked: %s", asked)
		}
	}
}

// Credentials that a parent doesn't know, or none, are the operator's concern;
// the sandbox is never asked for any.
func TestParentProxyWantsCredentials(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	ln := b.listen()
	srv := &http.Server{Handler: &parent{b: b}, ErrorLog: discardLog}
	b.serve(srv, func() error { return srv.Serve(ln) })
	b.opts.Parent = &url.URL{Scheme: "http", Host: ln.Addr().String()}
	b.start()
	k := b.inside("www.allowed.test")
	k.send("GET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n")
	resp, _ := k.response("GET")
	if resp.StatusCode != 502 || resp.Header.Get("X-Edge-Reason") != "upstream_dial_error" || resp.Header.Get("Proxy-Authenticate") != "" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
}

// A server that speaks first may have its first bytes in one packet with the
// parent's answer.
func TestParentProxyPassesEarlyBytes(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	ln := b.listen()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n220 mail.allowed.test ESMTP\r\n")
				}
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	b.opts.Parent = &url.URL{Scheme: "http", Host: ln.Addr().String()}
	b.start()
	b.connect("mail.allowed.test:587").expect("220 mail.allowed.test ESMTP\r\n")
}
