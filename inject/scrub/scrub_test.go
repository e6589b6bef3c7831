package scrub_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/sallyport/sallyport/inject/scan"
	"github.com/sallyport/sallyport/inject/scrub"
)

const (
	plain = "c4nary-Zq81+secret"
	stand = "sp_ph_abcdefghijklmnopqrstuvwxyz"
)

func replacer(placeholder string) *scan.Replacer {
	return scan.NewReplacer(scan.Renderings([]byte(plain), []byte(placeholder)))
}

func encode(t *testing.T, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch name {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		e, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = e
	default:
		return text
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func decode(t *testing.T, name string, r io.Reader) string {
	t.Helper()
	switch name {
	case "gzip":
		d, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		r = d
	case "br":
		r = brotli.NewReader(r)
	case "zstd":
		d, err := zstd.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		r = d
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// response is one that has arrived, with as much said as an origin would.
func response(contentType, coding string, body string) *http.Response {
	resp := &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Length": {fmt.Sprint(len(body))}},
		ContentLength: int64(len(body)), Trailer: http.Header{}, Request: &http.Request{Method: http.MethodGet},
		Body: io.NopCloser(iotest.HalfReader(strings.NewReader(body))),
	}
	if contentType != "" {
		resp.Header.Set("Content-Type", contentType)
	}
	if coding != "" {
		resp.Header.Set("Content-Encoding", coding)
	}
	return resp
}

// Ledger: SI-15
func TestBodiesAreScrubbed(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("lorem ipsum ", 9000) + plain + strings.Repeat(" dolor", 7000) + plain
	want := strings.ReplaceAll(text, plain, stand)
	fitted := strings.ReplaceAll(text, plain, stand[:len(plain)])
	for _, coding := range []string{"", "identity", "gzip", "br", "zstd", "X-GZIP"} {
		name := strings.TrimPrefix(strings.ToLower(coding), "x-")
		for _, kind := range []string{"application/json", "text/event-stream", "", "image/svg+xml", "image/png", "application/octet-stream"} {
			resp := response(kind, coding, encode(t, name, text))
			size := resp.ContentLength
			if err := scrub.Response(resp, replacer(stand)); err != nil {
				t.Fatal(err)
			}
			binary := kind == "image/png" || kind == "application/octet-stream"
			wantText := want
			if binary {
				wantText = fitted
			}
			if got := decode(t, name, resp.Body); got != wantText {
				t.Errorf("%s in %q: %d bytes, want %d", kind, coding, len(got), len(wantText))
			}
			// The length is kept only where it is right.
			_, announced := resp.Header["Content-Length"]
			kept := announced && resp.ContentLength == size
			if plainBinary := binary && (name == "" || name == "identity"); kept != plainBinary || !kept && (announced || resp.ContentLength != -1) {
				t.Errorf("%s in %q: Content-Length %v, %d", kind, coding, resp.Header["Content-Length"], resp.ContentLength)
			}
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	// Placeholders as long as the secret in every rendering keep it everywhere.
	const github, placeholder = "ghp_c4naryZq81secretc4naryZq81secret1234", "ghp_SallyportZq81secretc4naryZq81secret1"
	resp := response("text/plain", "", github)
	by := scan.NewReplacer(scan.Renderings([]byte(github), []byte(placeholder)))
	if err := scrub.Response(resp, by); err != nil || resp.ContentLength != int64(len(github)) {
		t.Errorf("%v, length %d", err, resp.ContentLength)
	}
	if got := decode(t, "", resp.Body); got != placeholder {
		t.Errorf("got %q", got)
	}
}

// Case: C12
func TestHeadersAndTrailersAreScrubbed(t *testing.T) {
	t.Parallel()
	resp := response("text/plain", "", "x")
	resp.StatusCode = http.StatusFound
	resp.Header = http.Header{
		"Location":         {"https://files.test/?token=c4nary-Zq81%2Bsecret"},
		"Set-Cookie":       {"a=b", "k=" + plain},
		"Www-Authenticate": {`Basic realm="x"`},
		"X-Echo":           {"Bearer " + plain},
	}
	if err := scrub.Response(resp, replacer(stand)); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Location": {"https://files.test/?token=" + stand}, "Set-Cookie": {"a=b", "k=" + stand},
		"Www-Authenticate": {`Basic realm="x"`}, "X-Echo": {"Bearer " + stand},
	}
	if diff := cmp.Diff(want, resp.Header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	resp.Trailer = http.Header{"X-Sum": {plain}}
	decode(t, "", resp.Body)
	if got := resp.Trailer.Get("X-Sum"); got != stand {
		t.Errorf("trailer %q", got)
	}
}

// Each event comes out as soon as it came in, compressed or not.
func TestEventsComeAtOnce(t *testing.T) {
	t.Parallel()
	for _, coding := range []string{"", "gzip", "br", "zstd"} {
		pr, pw := io.Pipe()
		resp := response("text/event-stream", coding, "")
		resp.Body, resp.ContentLength = pr, -1
		if err := scrub.Response(resp, replacer(stand)); err != nil {
			t.Fatal(err)
		}
		events := []string{"data: one\n\n", "data: " + plain + "\n\n", "data: three\n\n"}
		next := make(chan struct{})
		go func() {
			var w io.Writer = pw
			flush := func() error { return nil }
			switch coding {
			case "gzip":
				e := gzip.NewWriter(pw)
				w, flush = e, e.Flush
			case "br":
				e := brotli.NewWriter(pw)
				w, flush = e, e.Flush
			case "zstd":
				e, _ := zstd.NewWriter(pw)
				w, flush = e, e.Flush
			}
			for _, event := range events {
				_, _ = io.WriteString(w, event)
				_ = flush()
				<-next // no more until the client has seen this one
			}
			pw.CloseWithError(io.ErrUnexpectedEOF)
		}()
		var in io.Reader = resp.Body
		switch coding {
		case "gzip":
			d, err := gzip.NewReader(in)
			if err != nil {
				t.Fatal(err)
			}
			in = d
		case "br":
			in = brotli.NewReader(in)
		case "zstd":
			d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			in = d
		}
		for _, event := range events {
			want := strings.ReplaceAll(event, plain, stand)
			got := make([]byte, len(want))
			if _, err := io.ReadFull(in, got); err != nil || string(got) != want {
				t.Fatalf("%q: got %q, %v", coding, got, err)
			}
			next <- struct{}{}
		}
		if _, err := io.ReadAll(in); err == nil {
			t.Errorf("%q: an answer that broke off looks complete", coding)
		}
		resp.Body.Close()
	}
}

func TestWhatHasNoBody(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 204, 304} {
		resp := response("text/plain", "gzip", "")
		resp.StatusCode, resp.Body = status, http.NoBody
		resp.Request.Method = http.MethodHead
		resp.Header["Etag"] = []string{`"1"`}
		if err := scrub.Response(resp, replacer(stand)); err != nil || resp.Body != http.NoBody || resp.Header.Get("Etag") != `"1"` {
			t.Errorf("%d: %v", status, err)
		}
	}
	resp := response("text/plain", "gzip", "")
	resp.ContentLength = -1
	if err := scrub.Response(resp, replacer(stand)); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(resp.Body); len(got) != 0 || err != nil {
		t.Errorf("an empty body became %q, %v", got, err)
	}
	resp = response("text/plain", "", plain)
	if err := scrub.Response(resp, nil); err != nil || decode(t, "", resp.Body) != plain {
		t.Error("a nil Replacer scrubs")
	}
}

func TestCodingsThatCantBeUndone(t *testing.T) {
	t.Parallel()
	for _, coding := range []string{"compress", "gzip, br", "aws-chunked", "deflate", "dcb"} {
		if err := scrub.Response(response("text/plain", coding, "x"), replacer(stand)); err == nil {
			t.Errorf("%s was let through", coding)
		}
	}
	resp := response("text/plain", "gzip", "no gzip at all, but long enough for a header")
	if err := scrub.Response(resp, replacer(stand)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("what can't be decoded came through")
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	cases := []struct{ in, want []string }{
		{nil, nil},
		{[]string{"gzip, deflate, br, zstd"}, []string{"gzip, br, zstd"}},
		{[]string{"GZIP;q=0.5", "dcz, *;q=0"}, []string{"GZIP;q=0.5"}},
		{[]string{"deflate"}, []string{"identity"}},
		{[]string{""}, []string{"identity"}},
	}
	for _, c := range cases {
		h := http.Header{"Range": {"bytes=0-4"}, "If-Range": {"x"}, "Sec-Websocket-Extensions": {"permessage-deflate"}, "Accept": {"*/*"}}
		want := http.Header{"Accept": {"*/*"}}
		if c.in != nil {
			h["Accept-Encoding"], want["Accept-Encoding"] = c.in, c.want
		}
		scrub.Prepare(h)
		if diff := cmp.Diff(want, h); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.in, diff)
		}
	}
}

// Part of a document keeps its length, gRPC its bytes.
func TestPartsAndGRPC(t *testing.T) {
	t.Parallel()
	resp := response("text/plain", "", "x"+plain)
	resp.StatusCode = http.StatusPartialContent
	resp.Header.Set("Content-Range", "bytes 0-18/100")
	if err := scrub.Response(resp, replacer(stand)); err != nil {
		t.Fatal(err)
	}
	if got := decode(t, "", resp.Body); got != "x"+stand[:len(plain)] || resp.ContentLength != int64(len(got)) {
		t.Errorf("%q, length %d", got, resp.ContentLength)
	}
	resp = response("application/grpc+proto", "", plain)
	if err := scrub.Response(resp, replacer(stand)); err != nil || decode(t, "", resp.Body) != plain {
		t.Error("gRPC was touched")
	}
}
