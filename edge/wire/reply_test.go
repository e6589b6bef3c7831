package wire_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/edge/wire"
)

// Heads that more than one parser reads differently are refused, those of
// ordinary origins are not.
func TestReplyHeads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		head string
		ok   bool
	}{
		"plain":               {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", true},
		"no reason":           {"HTTP/1.1 200\r\n\r\n", true},
		"HTTP/1.0":            {"HTTP/1.0 404 Not Found\r\nX: y\r\n\r\n", true},
		"chunked":             {"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n", true},
		"obs-text":            {"HTTP/1.1 200 OK\r\nX: caf\xc3\xa9\r\n\r\n", true},
		"no version":          {"ICY 200 OK\r\n\r\n", false},
		"HTTP/2":              {"HTTP/2.0 200 OK\r\n\r\n", false},
		"two digits":          {"HTTP/1.1 20 OK\r\n\r\n", false},
		"four digits":         {"HTTP/1.1 2000 OK\r\n\r\n", false},
		"below 100":           {"HTTP/1.1 099 OK\r\n\r\n", false},
		"bare LF":             {"HTTP/1.1 200 OK\nX: y\n\n", false},
		"bare CR":             {"HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", false},
		"NUL":                 {"HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n", false},
		"folded":              {"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", false},
		"space before colon":  {"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\n", false},
		"no colon":            {"HTTP/1.1 200 OK\r\nContent-Length\r\n\r\n", false},
		"equal lengths":       {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n", false},
		"list of lengths":     {"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n", false},
		"signed length":       {"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n", false},
		"length and chunks":   {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", false},
		"chunks in HTTP/1.0":  {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false},
		"another coding":      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", false},
		"coding that is none": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n", false},
	} {
		_, err := wire.ReadReply(bufio.NewReader(strings.NewReader(c.head)), http.MethodGet)
		if (err == nil) != c.ok {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// What is accepted means the same to net/http: the same status, fields, length
// and body. Everything that net/http refuses is refused; more may be.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5;a=b\r\nhello\r\n0\r\nX-T: y\r\nX-U: z\r\n\r\nmore",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nuntil the end",
		"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc",
		"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"HTTP/1.1 200 OK\nContent-Length: 1\n\na",
	} {
		f.Add([]byte(seed), "GET")
		f.Add([]byte(seed), "HEAD")
	}
	f.Fuzz(func(t *testing.T, raw []byte, method string) {
		if method != http.MethodHead {
			method = http.MethodGet
		}
		ours, err := wire.ReadReply(bufio.NewReader(bytes.NewReader(raw)), method)
		if err != nil {
			return
		}
		theirs, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), &http.Request{Method: method})
		if err != nil {
			t.Fatalf("accepted what net/http refuses: %v", err)
		}
		if ours.StatusCode != theirs.StatusCode || ours.ContentLength != theirs.ContentLength {
			t.Fatalf("status and length %d %d, net/http's %d %d", ours.StatusCode, ours.ContentLength, theirs.StatusCode, theirs.ContentLength)
		}
		for name, values := range theirs.Header {
			if strings.Join(ours.Header[name], "\n") != strings.Join(values, "\n") {
				t.Fatalf("%s: %q, net/http's %q", name, ours.Header[name], values)
			}
		}
		body, bodyErr := io.ReadAll(ours.Body)
		want, wantErr := io.ReadAll(theirs.Body)
		if bodyErr == nil && (wantErr != nil || !bytes.Equal(body, want)) {
			t.Fatalf("body %q, net/http's %q, %v", body, want, wantErr)
		}
		if bodyErr != nil && errors.Is(bodyErr, io.EOF) {
			t.Fatalf("an early end that looks like the end: %v", bodyErr)
		}
	})
}
