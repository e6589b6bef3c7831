package edge_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// BenchmarkKeepAlive measures client, edge and origin together: requests of
// 1 KiB over one kept connection.
func BenchmarkKeepAlive(b *testing.B) {
	body := []byte(strings.Repeat("x", 1024))
	for _, p := range []struct {
		name string
		h2   bool
	}{{"h1", false}, {"h2", true}} {
		b.Run(p.name, func(b *testing.B) {
			bed := newBed(b)
			bed.originFor(p.h2, "www.allowed.test", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(body) })
			bed.start()
			c := bed.client(p.h2)
			b.ReportAllocs()
			for b.Loop() {
				resp, err := c.Get(originURL)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
}

// BenchmarkNewTunnel measures a CONNECT with a full handshake and one request.
func BenchmarkNewTunnel(b *testing.B) {
	bed := newBed(b)
	bed.origin("www.allowed.test", func(http.ResponseWriter, *http.Request) {})
	bed.start()
	b.ReportAllocs()
	for b.Loop() {
		k := bed.inside("www.allowed.test")
		k.send("GET / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n")
		if _, err := http.ReadResponse(k.br, nil); err != nil {
			b.Fatal(err)
		}
		k.Close()
	}
}

// endless is a body of zeros.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// Bodies stream: what client, edge and origin hold together doesn't grow with
// them. It is measured at fixed points of the bodies, without what only waits
// to be collected. Ledger: ED-16
func TestBodiesAreNotHeld(t *testing.T) {
	const size = 64 << 20
	for _, h2 := range []bool{false, true} {
		b := newBed(t)
		var up, down gauge
		b.originFor(h2, "www.allowed.test", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(&up, r.Body)
			_, _ = io.CopyN(w, endless{}, size)
		})
		b.start()
		before := liveHeap()
		resp, err := b.client(h2).Post(originURL, "", io.LimitReader(endless{}, size))
		b.must(err)
		_, err = io.Copy(&down, resp.Body)
		resp.Body.Close()
		if err != nil || up.n != size || down.n != size {
			t.Errorf("%d bytes up, %d down, error %v", up.n, down.n, err)
		}
		if peak := max(up.peak, down.peak); peak > before+16<<20 {
			t.Errorf("http/2 %v: the heap grew by %d MiB", h2, (peak-before)>>20)
		}
	}
}

// gauge counts what is written to it, and notes the heap's peak every 8 MiB.
type gauge struct {
	n    int64
	peak uint64
}

func (g *gauge) Write(p []byte) (int, error) {
	const every = 8 << 20
	if g.n/every != (g.n+int64(len(p)))/every {
		g.peak = max(g.peak, liveHeap())
	}
	g.n += int64(len(p))
	return len(p), nil
}

// liveHeap returns the size of what is reachable.
func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
