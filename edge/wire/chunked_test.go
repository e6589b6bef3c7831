package wire_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/edge/wire"
)

var chunkedCases = []struct {
	name, raw, body string
	ok              bool
}{
	{"empty", "0\r\n\r\n", "", true},
	{"two chunks", "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde", true},
	{"extension", "3;a=b;c=\"d\"\r\nabc\r\n0;x\r\n\r\n", "abc", true},
	{"upper-case hex", "A\r\n0123456789\r\n0\r\n\r\n", "0123456789", true},
	{"leading zeros", "0003\r\nabc\r\n0\r\n\r\n", "abc", true},
	{"trailer", "3\r\nabc\r\n0\r\nX-Sum: 7\r\nX-Other: 8\r\n\r\n", "abc", true},

	// Case: A13
	{"bare lf after size", "3\nabc\r\n0\r\n\r\n", "", false},
	{"bare lf in extension", "3;a\nb\r\nabc\r\n0\r\n\r\n", "", false},
	{"bare lf after data", "3\r\nabc\n0\r\n\r\n", "abc", false},
	{"bare lf after last chunk", "3\r\nabc\r\n0\n\r\n", "abc", false},
	{"bare lf at the end", "3\r\nabc\r\n0\r\n\n", "abc", false},
	{"bare cr in extension", "3;a\rb\r\nabc\r\n0\r\n\r\n", "", false},
	{"nul in extension", "3;a\x00\r\nabc\r\n0\r\n\r\n", "", false},
	{"no size", "\r\nabc\r\n0\r\n\r\n", "", false},
	{"prefix 0x", "0x3\r\nabc\r\n0\r\n\r\n", "", false},
	{"sign", "+3\r\nabc\r\n0\r\n\r\n", "", false},
	{"space before size", " 3\r\nabc\r\n0\r\n\r\n", "", false},
	{"underscore", "1_0\r\nabc\r\n0\r\n\r\n", "", false},
	{"huge size", "ffffffffffffffff\r\nabc", "", false},
	{"long extension", "3;" + strings.Repeat("a", 300) + "\r\nabc\r\n0\r\n\r\n", "", false},
	{"data longer than size", "3\r\nabcd\r\n0\r\n\r\n", "abc", false},
	{"folded trailer", "0\r\nX-Sum: 7\r\n 8\r\n\r\n", "", false},
	{"trailer without colon", "0\r\nX-Sum\r\n\r\n", "", false},
	{"truncated data", "5\r\nabc", "abc", false},
	{"truncated size", "5", "", false},
	{"no last chunk", "3\r\nabc\r\n", "abc", false},
	{"no end", "3\r\nabc\r\n0\r\n", "abc", false},
}

func TestChunked(t *testing.T) {
	t.Parallel()
	for _, c := range chunkedCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			trailer := http.Header{"X-Sum": nil}
			body, err := io.ReadAll(wire.Chunked(bufio.NewReader(strings.NewReader(c.raw)), trailer))
			if string(body) != c.body || (err == nil) != c.ok {
				t.Errorf("%q, error %v; want %q, ok %v", body, err, c.body, c.ok)
			}
			if c.name == "trailer" && (trailer.Get("X-Sum") != "7" || len(trailer) != 1) {
				t.Errorf("trailer %v; want the announced field only", trailer)
			}
			if strings.HasPrefix(c.name, "truncated") && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("error %v; want an unexpected end", err)
			}
		})
	}
}

// FuzzChunked: what is accepted, net/http decodes to the same bytes and leaves
// the same rest.
func FuzzChunked(f *testing.F) {
	for _, c := range chunkedCases {
		f.Add([]byte(c.raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ours := bufio.NewReader(bytes.NewReader(raw))
		got, err := io.ReadAll(wire.Chunked(ours, nil))
		if err != nil {
			return
		}
		want, err := io.ReadAll(httputil.NewChunkedReader(bufio.NewReader(bytes.NewReader(raw))))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q: decoded to %q, net/http to %q (%v)", raw, got, want, err)
		}
	})
}
