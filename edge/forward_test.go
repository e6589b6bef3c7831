package edge_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// bridges are the pairs of protocols towards the client and the origin.
var bridges = []struct{ client, origin bool }{{false, false}, {false, true}, {true, false}, {true, true}}

func (b *bed) originFor(h2 bool, host string, h http.HandlerFunc) {
	protos := []string{"http/1.1"}
	if h2 {
		protos = []string{"h2", "http/1.1"}
	}
	b.originTLS(host, 443, &tls.Config{NextProtos: protos}, h)
}

// each runs f over every bridge, with a bed whose origin is www.allowed.test.
func each(t *testing.T, h http.HandlerFunc, f func(b *bed, c *http.Client)) {
	for _, p := range bridges {
		t.Run(fmt.Sprintf("client h2 %v, origin h2 %v", p.client, p.origin), func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.originFor(p.origin, "www.allowed.test", h)
			b.start()
			f(b, b.client(p.client))
		})
	}
}

const originURL = "https://www.allowed.test"

// Ledger: ED-16 Case: A02, A03, A05
func TestFraming(t *testing.T) {
	t.Parallel()
	each(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/blob":
			w.Header().Set("Content-Length", "1234567")
		case "/304":
			w.WriteHeader(http.StatusNotModified)
		case "/204":
			w.WriteHeader(http.StatusNoContent)
		case "/file":
			w.Header().Set("Content-Length", "5000")
			_, _ = w.Write(bytes.Repeat([]byte("x"), 5000))
		case "/none":
			w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
			_, _ = w.Write([]byte("<html>"))
		}
	}, func(b *bed, c *http.Client) {
		cases := []struct {
			method, path string
			status       int
			length       int64
			body         int
		}{
			{"HEAD", "/blob", 200, 1234567, 0},
			{"GET", "/304", 304, -2, 0},
			{"GET", "/204", 204, -2, 0},
			{"GET", "/file", 200, 5000, 5000},
			{"HEAD", "/file", 200, 5000, 0},
		}
		for _, k := range cases {
			req, err := http.NewRequest(k.method, originURL+k.path, nil)
			b.must(err)
			resp, err := c.Do(req)
			b.must(err)
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != k.status || len(body) != k.body || len(resp.TransferEncoding) > 0 {
				b.Errorf("%s %s: %d, %d bytes, coding %q, error %v", k.method, k.path, resp.StatusCode, len(body), resp.TransferEncoding, err)
			}
			if k.length != -2 && resp.ContentLength != k.length {
				b.Errorf("%s %s: length %d, want %d", k.method, k.path, resp.ContentLength, k.length)
			}
		}
		resp, _ := b.get(c, originURL+"/none")
		if len(resp.Header["Date"]) > 0 || len(resp.Header["Content-Type"]) > 0 {
			b.Errorf("the edge adds fields: %v", resp.Header)
		}
	})
}

// Ledger: ED-16 Case: A39
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	each(t, func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.New()
		n, err := io.Copy(sum, r.Body)
		if err != nil || n != size {
			t.Errorf("origin read %d bytes, error %v", n, err)
		}
		w.Header().Set("X-Sum", fmt.Sprintf("%x", sum.Sum(nil)))
		_, _ = io.CopyN(w, rand.Reader, size)
	}, func(b *bed, c *http.Client) {
		for _, chunked := range []bool{false, true} {
			sum := sha256.New()
			body := io.TeeReader(io.LimitReader(rand.Reader, size), sum)
			req, err := http.NewRequest("POST", originURL, body)
			b.must(err)
			if !chunked {
				req.ContentLength = size
			}
			resp, err := c.Do(req)
			b.must(err)
			n, err := io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if err != nil || n != size || resp.Header.Get("X-Sum") != fmt.Sprintf("%x", sum.Sum(nil)) {
				b.Errorf("chunked %v: %d bytes down, sum %s, error %v", chunked, n, resp.Header.Get("X-Sum"), err)
			}
		}
		for _, r := range b.recorded(2) {
			if r.BytesUp != size || r.BytesDown != size {
				b.Errorf("record %+v", r)
			}
		}
	})
}

func TestEventsArriveAsSent(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	each(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		for range 3 {
			select {
			case <-next:
			case <-r.Context().Done():
				return
			}
			fmt.Fprint(w, "data: x\n\n")
			_ = http.NewResponseController(w).Flush()
		}
	}, func(b *bed, c *http.Client) {
		resp, err := c.Get(originURL)
		b.must(err)
		defer resp.Body.Close()
		buf := make([]byte, 9)
		for range 3 {
			next <- struct{}{}
			if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != "data: x\n\n" {
				b.Fatalf("event %q, error %v", buf, err)
			}
		}
	})
}

// Ledger: ED-16 Case: A10
func TestTrailers(t *testing.T) {
	t.Parallel()
	each(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/only" {
			w.Header().Set("Grpc-Status", "5")
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Trailer", "X-Up")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		w.Header().Set("X-Up", r.Trailer.Get("X-Sum"))
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	}, func(b *bed, c *http.Client) {
		req, err := http.NewRequest("POST", originURL, struct{ io.Reader }{strings.NewReader("hello")})
		b.must(err)
		req.Trailer = http.Header{"X-Sum": {"7"}}
		resp, err := c.Do(req)
		b.must(err)
		_, err = io.Copy(io.Discard, resp.Body)
		b.must(err)
		resp.Body.Close()
		if resp.Trailer.Get("X-Up") != "7" || resp.Trailer.Get("Grpc-Status") != "0" {
			b.Errorf("trailer %v", resp.Trailer)
		}
		for range 2 { // the connection goes on
			if resp, body := b.get(c, originURL+"/only"); resp.Header.Get("Grpc-Status") != "5" || body != "" {
				b.Errorf("%v %q", resp.Header, body)
			}
		}
	})
}

func TestInformational(t *testing.T) {
	t.Parallel()
	each(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</a.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Link", "</b.css>")
	}, func(b *bed, c *http.Client) {
		var hints []string
		trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			hints = append(hints, strconv.Itoa(code)+h.Get("Link"))
			return nil
		}}
		req, err := http.NewRequestWithContext(httptrace.WithClientTrace(context.Background(), trace), "GET", originURL, nil)
		b.must(err)
		resp, err := c.Do(req)
		b.must(err)
		resp.Body.Close()
		if len(hints) != 1 || hints[0] != "103</a.css>" || resp.Header.Get("Link") != "</b.css>" {
			b.Errorf("hints %q, then %v", hints, resp.Header)
		}
	})
}

// Ledger: ED-16
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.originFor(false, "www.allowed.test", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.Copy(w, r.Body)
	})
	b.start()
	const post = " HTTP/1.1\r\nHost: www.allowed.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
	k := b.inside("www.allowed.test")
	k.send("POST /yes" + post)
	k.expect("HTTP/1.1 100 Continue\r\n\r\n")
	k.send("hello")
	if _, body := k.response("POST"); body != "hello" {
		t.Errorf("body %q", body)
	}
	k.send("POST /no" + post)
	if resp, _ := k.response("POST"); resp.StatusCode != 401 {
		t.Errorf("status %d, want the origin's 401 and no 100 before it", resp.StatusCode)
	}
}

// Ledger: ED-21 Case: A30, A31
func TestHopByHop(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Alt-Svc", `h3=":443"`)
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.Header().Set("Keep-Alive", "timeout=5")
		echoHeaders(w, r)
	}
	b.originFor(false, "www.allowed.test", echo)
	b.originHTTP("www.allowed.test", 80, echo)
	b.start()
	fields := "Proxy-Authorization: " + basic(boxID, token) + "\r\nProxy-Connection: keep-alive\r\nProxy-X: 1\r\n" +
		"Connection: close, X-Trace\r\nX-Trace: 1\r\nKeep-Alive: 5\r\nTE: gzip\r\nUpgrade: foo\r\nX-Kept: 1\r\n\r\n"
	plain := b.dial(b.proxy)
	plain.send("GET http://www.allowed.test/ HTTP/1.1\r\nHost: www.allowed.test\r\n" + fields)
	inner := b.inside("www.allowed.test")
	inner.send("GET / HTTP/1.1\r\nHost: www.allowed.test\r\n" + fields)
	for name, k := range map[string]*raw{"plain": plain, "inside": inner} {
		resp, body := k.response("GET")
		if body != "HTTP/1.1 www.allowed.test /\nX-Kept: 1\r\n" {
			t.Errorf("%s: origin saw %q", name, body)
		}
		for _, f := range []string{"Alt-Svc", "Proxy-Authenticate", "Keep-Alive", "Via"} {
			if resp.Header.Get(f) != "" {
				t.Errorf("%s: %s came back", name, f)
			}
		}
		if !resp.Close {
			t.Errorf("%s: connection stays open", name)
		}
	}
}

// Bodies in any coding arrive as the same bytes, with the same length, whether
// the client asked for the coding or not.
//
// Case: A33
func TestCodingsArePassedOn(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	_, _ = zw.Write(bytes.Repeat([]byte("hello "), 1000))
	_ = zw.Close()
	opaque := make([]byte, 50000) // br and zstd are nothing that the edge knows
	_, _ = rand.Read(opaque)
	bodies := map[string][]byte{"gzip": zipped.Bytes(), "br": opaque, "zstd": opaque, "gzip, br": opaque}
	each(t, func(w http.ResponseWriter, r *http.Request) {
		coding := r.URL.Query().Get("coding")
		w.Header().Set("X-Accept", r.Header.Get("Accept-Encoding"))
		w.Header().Set("Content-Encoding", coding)
		w.Header().Set("Content-Length", strconv.Itoa(len(bodies[coding])))
		_, _ = w.Write(bodies[coding])
	}, func(b *bed, c *http.Client) {
		c.Transport.(*http.Transport).DisableCompression = true
		for coding, sent := range bodies {
			for _, accept := range []string{"", coding} {
				req, err := http.NewRequest("GET", originURL+"/?coding="+url.QueryEscape(coding), nil)
				b.must(err)
				if accept != "" {
					req.Header.Set("Accept-Encoding", accept)
				}
				resp, err := c.Do(req)
				b.must(err)
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || sha256.Sum256(body) != sha256.Sum256(sent) || resp.ContentLength != int64(len(sent)) ||
					resp.Header.Get("Content-Encoding") != coding || resp.Header.Get("X-Accept") != accept {
					b.Errorf("%s: %d bytes, %v, error %v", coding, len(body), resp.Header, err)
				}
			}
		}
	})
}

// Case: A34
func TestIdleUpstreamClosed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var posts atomic.Int32
	ln := b.listen()
	b.pin("www.allowed.test", 80, ln)
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "POST" {
				posts.Add(1)
			}
		}),
		ConnState: func(c net.Conn, s http.ConnState) {
			if s == http.StateIdle {
				c.Close()
			}
		},
	}
	b.serve(srv, func() error { return srv.Serve(ln) })
	b.start()
	c := b.client(false)
	for i := range 5 {
		resp, err := c.Get("http://www.allowed.test/")
		b.must(err)
		resp.Body.Close()
		post, err := c.Post("http://www.allowed.test/", "text/plain", strings.NewReader("x"))
		b.must(err)
		post.Body.Close()
		if resp.StatusCode != 200 || post.StatusCode != 200 && post.StatusCode != 502 || posts.Load() > int32(i+1) {
			t.Errorf("GET %d, POST %d, handled %d times", resp.StatusCode, post.StatusCode, posts.Load())
		}
	}
}

// A response that breaks off upstream never looks complete to the client.
func TestBrokenUpstreamBody(t *testing.T) {
	t.Parallel()
	abort := func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("half"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	each(t, abort, func(b *bed, c *http.Client) {
		b.expectBroken(c, originURL)
	})
	t.Run("plain", func(t *testing.T) {
		t.Parallel()
		b := newBed(t)
		b.originHTTP("www.allowed.test", 80, abort)
		b.start()
		b.expectBroken(b.client(false), "http://www.allowed.test/")
	})
}

func (b *bed) expectBroken(c *http.Client, url string) {
	b.Helper()
	resp, err := c.Get(url)
	b.must(err)
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err == nil {
		b.Errorf("%q looks complete", body)
	}
}

// A request whose body breaks off or is malformed is never complete at the
// origin. Case: A13
func TestBrokenRequestBody(t *testing.T) {
	t.Parallel()
	for _, h2 := range []bool{false, true} {
		b := newBed(t)
		complete := make(chan error, 1)
		b.originFor(h2, "www.allowed.test", func(w http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			complete <- err
		})
		b.start()
		k := b.inside("www.allowed.test")
		k.send("POST / HTTP/1.1\r\nHost: www.allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
		k.send("3\nabc\r\n0\r\n\r\n")
		resp, _ := k.response("POST")
		if resp.StatusCode != 400 || resp.Header.Get("X-Edge-Reason") != "bad_request" {
			t.Errorf("%d %s", resp.StatusCode, resp.Header.Get("X-Edge-Reason"))
		}
		k.ended()
		select {
		case err := <-complete:
			if err == nil {
				t.Error("origin read a complete body")
			}
		case <-time.After(5 * time.Second):
			t.Error("origin still waits for the body")
		}
	}
}

// A request without a body has none upstream either, not an empty chunked one:
// an origin that doesn't read chunks would take the last one for a request.
func TestNoBodyStaysNone(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, bridge := range bridges {
		b.originFor(bridge.origin, fmt.Sprintf("h2-%t.allowed.test", bridge.origin), func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, r.TransferEncoding, r.ContentLength)
		})
	}
	b.start()
	for _, bridge := range bridges {
		for _, method := range []string{"PUT", "POST", "DELETE", "FOO"} {
			url := fmt.Sprintf("https://h2-%t.allowed.test/", bridge.origin)
			req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
			b.must(err)
			resp, err := b.client(bridge.client).Do(req)
			b.must(err)
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			b.must(err)
			if got := string(body); got != "[] 0" {
				t.Errorf("%s, client h2 %t, origin h2 %t: origin saw encoding and length %s", method, bridge.client, bridge.origin, got)
			}
		}
	}
}
