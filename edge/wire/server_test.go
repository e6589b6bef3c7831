package wire_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sallyport/sallyport/edge/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server with h on a loopback port and returns the address.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &wire.Server{
		Handler: h, Proxy: true, HeadTimeout: 5 * time.Second, Idle: 20 * time.Second,
		Reject: func(w http.ResponseWriter, _ *http.Request, err *wire.Error) {
			http.Error(w, err.Msg, err.Status)
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
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
			go func() { defer close(ended); srv.ServeConn(ctx, c); c.Close() }()
		}
		for _, c := range conns {
			<-c
		}
	}()
	t.Cleanup(func() { cancel(); ln.Close(); <-done })
	return ln.Addr().String()
}

// talk is a raw connection to a server.
type talk struct {
	*testing.T
	net.Conn
	br *bufio.Reader
}

func dial(t *testing.T, addr string) *talk {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return &talk{t, c, bufio.NewReader(c)}
}

func (k *talk) send(s string) {
	k.Helper()
	if _, err := io.WriteString(k.Conn, s); err != nil {
		k.Fatal(err)
	}
}

func (k *talk) response(method string) (*http.Response, string) {
	k.Helper()
	resp, err := http.ReadResponse(k.br, &http.Request{Method: method})
	if err != nil {
		k.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		k.Fatalf("read body after %q: %v", body, err)
	}
	return resp, string(body)
}

func (k *talk) ended() {
	k.Helper()
	if b, err := k.br.ReadByte(); !errors.Is(err, io.EOF) {
		k.Errorf("read %q, error %v; want the end of the connection", b, err)
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	fmt.Fprintf(w, "%s %s %q %v", r.Method, r.URL.Path, b, r.Trailer)
}

func TestPipelined(t *testing.T) {
	t.Parallel()
	k := dial(t, serve(t, echo))
	k.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n" +
		"POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi" +
		"POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nho\r\n0\r\nX-Sum: 7\r\n\r\n" +
		"GET /4 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	for i, want := range []string{`GET /1 "" map[]`, `POST /2 "hi" map[]`, `POST /3 "ho" map[X-Sum:[7]]`, `GET /4 "" map[]`} {
		resp, body := k.response("GET")
		if body != want {
			t.Errorf("response %d: %q, want %q", i, body, want)
		}
		if resp.Close != (i == 3) {
			t.Errorf("response %d: close %v", i, resp.Close)
		}
	}
	k.ended()
}

// Case: A12, B16
func TestRejectEndsConnection(t *testing.T) {
	t.Parallel()
	handled := 0
	k := dial(t, serve(t, func(w http.ResponseWriter, r *http.Request) { handled++; echo(w, r) }))
	k.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: b\r\n\r\n")
	if resp, _ := k.response("POST"); resp.StatusCode != 400 || !resp.Close {
		t.Errorf("status %d, close %v; want 400 and close", resp.StatusCode, resp.Close)
	}
	k.ended()
	if handled != 0 {
		t.Errorf("handler saw %d requests", handled)
	}
}

func TestFraming(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		switch r.URL.Path {
		case "/head": // Case: A03
			h.Set("Content-Length", "1234567")
		case "/304": // Case: A02
			w.WriteHeader(http.StatusNotModified)
		case "/204":
			h.Set("Content-Length", "3")
			w.WriteHeader(http.StatusNoContent)
		case "/length":
			h.Set("Content-Length", "5")
			fmt.Fprint(w, "hello")
		case "/trailer":
			h.Set("Trailer", "X-Sum")
			fmt.Fprint(w, "hello")
			h.Set("X-Sum", "7")
			h.Set(http.TrailerPrefix+"Grpc-Status", "0")
		case "/early":
			h.Set("Link", "</a.css>")
			w.WriteHeader(http.StatusEarlyHints)
			h.Del("Link")
			fmt.Fprint(w, "hello")
		case "/reason":
			h[wire.ReasonKey] = []string{"Blocked\r\nX: y"}
			w.WriteHeader(http.StatusForbidden)
		}
	})
	cases := []struct {
		method, path string
		want         string // head without the order of its fields
	}{
		{"HEAD", "/head", "HTTP/1.1 200 OK\r\nContent-Length: 1234567\r\n\r\n"},
		{"GET", "/304", "HTTP/1.1 304 Not Modified\r\n\r\n"},
		{"GET", "/204", "HTTP/1.1 204 No Content\r\n\r\n"},
		{"GET", "/empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{"GET", "/length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
		{"GET", "/trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nGrpc-Status: 0\r\nX-Sum: 7\r\n\r\n"},
		{"GET", "/early", "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
		{"GET", "/reason", "HTTP/1.1 403 Blocked??X: y\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	}
	for _, c := range cases {
		t.Run(c.path, func(t *testing.T) {
			t.Parallel()
			k := dial(t, addr)
			k.send(c.method + " " + c.path + " HTTP/1.1\r\nHost: a\r\n\r\n")
			k.expect(c.want)
			// The connection carries the next request.
			k.send("GET /length HTTP/1.0\r\nHost: a\r\n\r\n")
			k.expect("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
			k.ended()
		})
	}
}

func (k *talk) expect(want string) {
	k.Helper()
	got := make([]byte, len(want))
	n, _ := io.ReadFull(k.br, got)
	if string(got[:n]) != want {
		k.Errorf("read %q, want %q", got[:n], want)
	}
}

func TestContinue(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		echo(w, r)
	})
	const post = " HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
	k := dial(t, addr)
	k.send("POST /yes" + post)
	k.expect("HTTP/1.1 100 Continue\r\n\r\n")
	k.send("hi")
	if _, body := k.response("POST"); body != `POST /yes "hi" map[]` {
		t.Errorf("body %q", body)
	}
	k.send("POST /no" + post)
	if resp, _ := k.response("POST"); resp.StatusCode != 401 || !resp.Close {
		t.Errorf("status %d, close %v; a body that may or may not follow must end the connection", resp.StatusCode, resp.Close)
	}
	k.ended()
}

// A body that ends early, or is malformed, is never a complete one to the
// handler. Case: A13
func TestBrokenBody(t *testing.T) {
	t.Parallel()
	errs := make(chan error, 1)
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		errs <- err
	})
	cases := []struct {
		name, body string
		malformed  bool
	}{
		{"short", "Content-Length: 9\r\n\r\nabc", false},
		{"short chunk", "Transfer-Encoding: chunked\r\n\r\n9\r\nabc", false},
		{"bare lf", "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n", true},
	}
	for _, c := range cases {
		k := dial(t, addr)
		k.send("POST / HTTP/1.1\r\nHost: a\r\n" + c.body)
		_ = k.Conn.(*net.TCPConn).CloseWrite()
		err := <-errs
		var bad *wire.Error
		if errors.As(err, &bad) != c.malformed || !c.malformed && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}

func TestUnreadBody(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) })
	k := dial(t, addr)
	k.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi")
	if resp, _ := k.response("POST"); resp.Close {
		t.Error("a body that had arrived ends the connection")
	}
	// The answer arrives though the client is still sending.
	k.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("a", 90000))
	if resp, _ := k.response("POST"); resp.StatusCode != 403 || !resp.Close {
		t.Errorf("status %d, close %v", resp.StatusCode, resp.Close)
	}
	k.ended()
}

func TestAbortedResponse(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/short" {
			w.Header().Set("Content-Length", "9")
			fmt.Fprint(w, "abc")
			return
		}
		fmt.Fprint(w, "abc")
		panic(http.ErrAbortHandler)
	})
	// To HTTP/1.0 the body ends with the connection.
	k := dial(t, addr)
	k.send("GET / HTTP/1.0\r\n\r\n")
	if body, err := io.ReadAll(k.br); err == nil {
		t.Errorf("%q looks complete", body)
	}
	for _, path := range []string{"/chunked", "/short"} {
		resp, err := http.Get("http://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("%s: %q looks complete", path, body)
		}
		resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestEventsArriveOneByOne(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		for range next {
			fmt.Fprint(w, "data: x\n\n")
		}
	})
	k := dial(t, addr)
	k.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	k.expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
	for range 3 {
		next <- struct{}{}
		k.expect("9\r\ndata: x\n\n\r\n")
	}
	close(next)
	k.expect("0\r\n\r\n")
}

func TestHijackReplaysEarlyBytes(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n")
		_, _ = io.Copy(c, c)
		_ = c.(*wire.Conn).CloseWrite()
	})
	k := dial(t, addr)
	k.send("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\nearly")
	k.expect("HTTP/1.1 200 OK\r\n\r\nearly")
	k.send(" and late")
	_ = k.Conn.(*net.TCPConn).CloseWrite()
	k.expect(" and late")
	k.ended()
}

func TestClientGone(t *testing.T) {
	t.Parallel()
	over := make(chan error, 1)
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		over <- r.Context().Err()
	})
	for _, req := range []string{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"} {
		k := dial(t, addr)
		k.send(req)
		_ = k.Conn.(*net.TCPConn).SetLinger(0) // a reset, not a half-close
		k.Close()
		select {
		case <-over:
		case <-time.After(10 * time.Second):
			t.Fatal("the request outlives its client")
		}
	}
}

func TestHalfClosedClientIsAnswered(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(time.Second): // longer than it takes to notice
		}
		echo(w, r)
	})
	k := dial(t, addr)
	k.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	_ = k.Conn.(*net.TCPConn).CloseWrite()
	if _, body := k.response("GET"); body != `GET / "" map[]` {
		t.Errorf("body %q", body)
	}
	k.ended()
}
