package edge_test

import (
	"bufio"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
)

// An origin that sends back what it was sent, in every way.
//
// Ledger: SI-15. Case: C12
func TestEchoesAreScrubbed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("bound.allowed.test", func(w http.ResponseWriter, r *http.Request) {
		auth := r.Header.Get("Authorization")
		text := fmt.Sprintf("%s and %s, range %q", auth, base64.StdEncoding.EncodeToString([]byte("user:"+auth)), r.Header["Range"])
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Set("Location", "https://files.test/?token="+strings.TrimPrefix(auth, "Bearer "))
		w.Header().Set("X-Echo", auth)
		w.Header().Set("Set-Cookie", "session=kept")
		w.Header().Set("Www-Authenticate", "Basic realm=kept")
		var out io.Writer = w
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			out = z
		}
		w.Header().Set("X-Coding", r.Header.Get("Accept-Encoding"))
		w.Header().Set("Link", auth)
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		if r.Method == http.MethodHead {
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		}
		for _, c := range text { // a byte at a time
			_, _ = io.WriteString(out, string(c))
			if f, ok := w.(http.Flusher); ok && out == w {
				f.Flush()
			}
		}
		w.Header().Set("X-Sum", auth)
	})
	env := b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{binding}}, defaultPolicy)
	ph := "Bearer " + env["API_TOKEN"]
	b.start()
	for _, h2 := range []bool{false, true} {
		for _, coding := range []string{"identity", "gzip", "deflate"} {
			for _, method := range []string{"GET", "HEAD"} {
				req, err := http.NewRequest(method, "https://bound.allowed.test/", nil)
				b.must(err)
				req.Header.Set("Authorization", ph)
				req.Header.Set("Range", "bytes=0-3")
				req.Header.Set("Accept-Encoding", coding)
				resp, err := b.client(h2).Do(req)
				b.must(err)
				var in io.Reader = resp.Body
				if resp.Header.Get("Content-Encoding") == "gzip" && method == "GET" {
					in, err = gzip.NewReader(in)
					b.must(err)
				}
				body, err := io.ReadAll(in)
				b.must(err)
				_, _ = io.Copy(io.Discard, resp.Body) // to the trailer
				resp.Body.Close()
				want := ph + " and " + base64.StdEncoding.EncodeToString([]byte("user:"+ph)) + `, range []`
				if method == "HEAD" {
					want = ""
				}
				if string(body) != want {
					t.Errorf("%s %s: body %q, want %q", method, coding, body, want)
				}
				h := resp.Header
				if h.Get("X-Echo") != ph || h.Get("Location") != "https://files.test/?token="+env["API_TOKEN"] ||
					h.Get("Set-Cookie") != "session=kept" || h.Get("Www-Authenticate") != "Basic realm=kept" || h.Get("Content-Length") != "" {
					t.Errorf("%s %s: header %v", method, coding, h)
				}
				if method == "GET" && resp.Trailer.Get("X-Sum") != ph {
					t.Errorf("%s: trailer %v", coding, resp.Trailer)
				}
			}
		}
	}
}

// A host that no secret was written for answers as it likes, byte for byte.
func TestOnlyBoundHostsAreScrubbed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("www.allowed.test", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "compress")
		fmt.Fprint(w, secret1, r.Header["Range"], r.Header["Accept-Encoding"])
	})
	b.start()
	req, err := http.NewRequest("GET", "https://www.allowed.test/", nil)
	b.must(err)
	req.Header.Set("Range", "bytes=0-3")
	req.Header.Set("Accept-Encoding", "compress")
	resp, err := b.client(false).Do(req)
	b.must(err)
	defer resp.Body.Close()
	got, err := bufio.NewReader(resp.Body).ReadString(0)
	if want := secret1 + "[bytes=0-3] [compress]"; got != want || err != io.EOF || resp.ContentLength != int64(len(want)) {
		t.Errorf("%q, %v", got, err)
	}
}
