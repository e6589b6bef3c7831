package edge_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
)

// rawOrigin runs handle for each connection to host:port.
func (b *bed) rawOrigin(host string, port uint16, handle func(net.Conn)) {
	b.Helper()
	ln := b.listen()
	b.pin(host, port, ln)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var conns []chan struct{}
		for {
			c, err := ln.Accept()
			if err != nil {
				break
			}
			ended := make(chan struct{})
			conns = append(conns, ended)
			go func() {
				defer close(ended)
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(20 * time.Second))
				handle(c)
			}()
		}
		for _, c := range conns {
			<-c
		}
	}()
	b.Cleanup(func() { ln.Close(); <-done })
}

// echoLine answers each line with itself.
func echoLine(c net.Conn) {
	sc := bufio.NewScanner(c)
	for sc.Scan() {
		fmt.Fprintf(c, "echo %s\n", sc.Text())
	}
}

// Ledger: ED-17
func TestWebSocket(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	serve := func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		_ = c.Write(r.Context(), websocket.MessageText, []byte(r.Header.Get("Authorization")))
		for {
			kind, msg, err := c.Read(r.Context())
			if err != nil {
				return
			}
			_ = c.Write(r.Context(), kind, msg)
		}
	}
	b.origin("bound.allowed.test", serve) // offers h2; a WebSocket takes HTTP/1.1
	b.originHTTP("www.allowed.test", 80, serve)
	env := b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{binding}}, defaultPolicy)
	b.start()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	// What the origin saw is taken out of its frames again, which keep their length.
	cases := []struct{ url, auth, want string }{
		{"wss://bound.allowed.test/", "Bearer " + env["API_TOKEN"], "Bearer " + env["API_TOKEN"][:len(secret1)]},
		{"ws://www.allowed.test/", "", ""},
	}
	for i, c := range cases {
		ws, _, err := websocket.Dial(ctx, c.url, &websocket.DialOptions{
			HTTPClient: b.client(false), HTTPHeader: http.Header{"Authorization": {c.auth}},
		})
		b.must(err)
		if _, msg, err := ws.Read(ctx); err != nil || string(msg) != c.want {
			t.Errorf("%s: origin saw %q, error %v", c.url, msg, err)
		}
		big := bytes.Repeat([]byte("x"), 30000)
		b.must(ws.Write(ctx, websocket.MessageBinary, big))
		if _, msg, err := ws.Read(ctx); err != nil || !bytes.Equal(msg, big) {
			t.Errorf("%s: %d bytes, error %v", c.url, len(msg), err)
		}
		b.must(ws.Close(websocket.StatusNormalClosure, ""))
		r := b.recorded(i + 1)[i]
		if r.Protocol != "websocket" || r.Status != 101 || r.BytesUp < 30000 || r.BytesDown < 30000 {
			t.Errorf("%s: record %+v", c.url, r)
		}
	}
}

// Case: A32
func TestUnaskedSwitch(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.rawOrigin("www.allowed.test", 80, func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nhidden")
		_, _ = io.Copy(io.Discard, c)
	})
	b.start()
	for _, fields := range []string{"", "Connection: Upgrade\r\nUpgrade: websocket\r\n"} {
		k := b.dial(b.proxy)
		k.send("GET http://www.allowed.test/ HTTP/1.1\r\nHost: www.allowed.test\r\n" + fields + "\r\n")
		resp, _ := k.response("GET")
		if resp.StatusCode != 502 || resp.Header.Get("X-Edge-Reason") != "upstream_protocol_error" {
			t.Errorf("%q: %d %s", fields, resp.StatusCode, resp.Header.Get("X-Edge-Reason"))
		}
	}
}

// Cleartext HTTP in a CONNECT tunnel is judged as HTTP, whatever the port.
func TestCleartextInTunnel(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.originHTTP("www.allowed.test", 8080, echoHeaders)
	b.start()
	k := b.connect("www.allowed.test:8080")
	k.send("GET /a HTTP/1.1\r\nHost: www.allowed.test:8080\r\n\r\n")
	if _, body := k.response("GET"); !strings.HasPrefix(body, "HTTP/1.1 www.allowed.test:8080 /a\n") {
		t.Errorf("origin saw %q", body)
	}
	k.send("GET /a HTTP/1.1\r\nHost: denied.test\r\n\r\n")
	if resp, _ := k.response("GET"); resp.StatusCode != 421 {
		t.Errorf("status %d", resp.StatusCode)
	}
	k.ended()
}

// Ledger: ED-20
func TestOpaque(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.opts.Timeouts.ServerFirst = 50 * time.Millisecond
	greet := func(c net.Conn) {
		fmt.Fprint(c, "220 ready\n")
		echoLine(c)
	}
	bindingToo := binding
	bindingToo.Env, bindingToo.Port = "OTHER", 8443
	b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{binding, bindingToo}}, defaultPolicy)
	b.rawOrigin("www.allowed.test", 22, echoLine)
	b.rawOrigin("www.allowed.test", 587, greet)
	b.rawOrigin("www.allowed.test", 443, greet)
	b.rawOrigin("bound.allowed.test", 8443, greet)
	b.start()

	k := b.connect("www.allowed.test:22")
	k.send("SSH-2.0-x\n")
	k.expect("echo SSH-2.0-x\n")
	k.Close()
	if r := b.recorded(1)[0]; r.Protocol != "opaque" || r.Verdict != audit.VerdictAllow || r.BytesUp != 10 || r.BytesDown != 15 || r.Address == "" {
		t.Errorf("record %+v", r)
	}

	k = b.connect("www.allowed.test:587") // speaks first
	k.expect("220 ready\n")
	k.send("EHLO x\n")
	k.expect("echo EHLO x\n")
	k.Close()
	b.recorded(2)

	for i, target := range []string{"www.allowed.test:443", "bound.allowed.test:8443"} {
		k = b.connect(target)
		k.send("SSH-2.0-x\n")
		k.ended()
		if r := b.recorded(3 + i)[2+i]; r.Reason != "protocol_denied" || r.Verdict != audit.VerdictDeny {
			t.Errorf("record %+v", r)
		}
	}
}

func TestOpaqueIsAnOption(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.opts.OpaqueConnect = false
	b.rawOrigin("www.allowed.test", 22, echoLine)
	b.start()
	k := b.connect("www.allowed.test:22")
	k.send("SSH-2.0-x\n")
	k.ended()
}

// A client that is slow to speak doesn't get TLS past interception.
func TestSlowHelloIsIntercepted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.opts.Timeouts.ServerFirst = time.Millisecond
	b.originTLS("www.allowed.test", 8443, serverTLS(), echoHeaders)
	b.start()
	k := b.connect("www.allowed.test:8443")
	time.Sleep(100 * time.Millisecond) // what is tested: many times ServerFirst
	inner, err := b.tls(k, clientTLS("www.allowed.test"))
	b.must(err)
	inner.send("GET / HTTP/1.1\r\nHost: www.allowed.test:8443\r\n\r\n")
	if resp, _ := inner.response("GET"); resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// Case: A35
func TestHalfClose(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.rawOrigin("www.allowed.test", 9000, func(c net.Conn) {
		n, _ := io.Copy(io.Discard, c) // until the client has ended its side
		_, _ = io.CopyN(c, rand.Reader, 1<<20)
		fmt.Fprintf(c, "%d", n)
	})
	b.start()
	k := b.connect("www.allowed.test:9000")
	k.send("*request*")
	b.must(k.Conn.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(k.br)
	if err != nil || len(answer) != 1<<20+1 || answer[1<<20] != '9' {
		t.Errorf("%d bytes, error %v", len(answer), err)
	}
}

// Ledger: NP-21; decision 27
func TestPolicyChangesAtOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.rawOrigin("www.allowed.test", 22, echoLine)
	b.origin("www.allowed.test", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})
	b.start()
	b.put(boundary.Spec{ID: boxID}, `{}`)
	opaque := b.connect("www.allowed.test:22")
	opaque.send("SSH-2.0-x\n")
	opaque.expect("echo SSH-2.0-x\n")
	stream := b.inside("www.allowed.test")
	stream.send("GET /stream HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n")
	stream.expect("HTTP/1.1 200 OK\r\n")
	idle := b.inside("www.allowed.test")
	idle.send("GET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n")
	idle.response("GET")

	// A change that still allows the host disturbs nobody.
	b.put(boundary.Spec{ID: boxID}, defaultPolicy)
	opaque.send("still\n")
	opaque.expect("echo still\n")

	b.put(boundary.Spec{ID: boxID}, `{"version":"v1","rules":[]}`)
	opaque.ended()
	if rest, err := io.ReadAll(stream.br); err == nil || strings.HasSuffix(string(rest), "0\r\n\r\n") {
		t.Errorf("the stream looks complete: %q", rest)
	}
	idle.send("GET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n")
	if resp, _ := idle.response("GET"); resp.StatusCode != 403 {
		t.Errorf("status %d", resp.StatusCode)
	}
	b.table.Delete(boxID)
	idle.send("GET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n")
	if resp, _ := idle.response("GET"); resp.StatusCode != 407 {
		t.Errorf("status %d", resp.StatusCode)
	}
	withdrawn := 0
	for _, r := range b.recorded(5) {
		if r.Reason == "network_policy_denied" && strings.Contains(r.Detail, "no longer") {
			withdrawn++
		}
	}
	if withdrawn != 2 {
		t.Errorf("%d crossings recorded as withdrawn, want 2", withdrawn)
	}
}
