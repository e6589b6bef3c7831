package soak_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/sallyport/sallyport/integration/harness"
)

// An origin is an HTTPS server for all hosts of the tests.
func newOrigin(t *testing.T) (*harness.CA, *harness.Origin, string) {
	t.Helper()
	ca, err := harness.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue(boundHost, allowedHost, deniedHost)
	if err != nil {
		t.Fatal(err)
	}
	o := harness.NewOrigin(&cert)
	t.Cleanup(o.Close)
	return ca, o, fmt.Sprintf(`{extra_roots: [origins.pem], resolve: {"%s:443": %[4]q, "%[2]s:443": %[4]q, "%[3]s:443": %[4]q}}`,
		boundHost, allowedHost, deniedHost, o.Addr())
}

// zeros is a body without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A body of 1 GiB passes in each direction, to a bound host too, whose answers
// are scrubbed, and the edge grows by less than 64 MiB. Ledger: ED-16
func TestLargeBodies(t *testing.T) {
	size := atLength[int64](64<<20, 1<<30)
	ca, origin, upstream := newOrigin(t)
	origin.Handle("/large", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n, err := io.Copy(io.Discard, r.Body); err != nil || n != size {
			t.Errorf("the origin read %d bytes, error %v", n, err)
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = io.CopyN(w, zeros{}, size)
	}))
	e := startEdge(t, ca, upstream)
	client := e.client(0)
	for _, host := range []string{allowedHost, boundHost} {
		resp, err := client.Get("https://" + host + "/") // the first of all takes what is taken once
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		before, stop, start := e.rss(), e.peakRSS(), time.Now()
		resp, err = client.Post("https://"+host+"/large", "", io.LimitReader(zeros{}, size))
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil || n != size || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d, %d bytes, error %v", host, resp.StatusCode, n, err)
		}
		grown := stop() - before
		t.Logf("%s: %d MiB up and down in %v, the edge grew by %d MiB", host, size>>20, time.Since(start).Round(time.Millisecond), grown>>20)
		if grown >= 64<<20 {
			t.Errorf("%s: the edge grew by %d MiB", host, grown>>20)
		}
	}
}
