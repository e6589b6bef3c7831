package edge_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
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
// them. Ledger: ED-16
func TestBodiesAreNotHeld(t *testing.T) {
	const size = 64 << 20
	for _, h2 := range []bool{false, true} {
		b := newBed(t)
		b.originFor(h2, "www.allowed.test", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.CopyN(w, endless{}, size)
		})
		b.start()
		stop, peak := watchHeap()
		resp, err := b.client(h2).Post(originURL, "", io.LimitReader(endless{}, size))
		b.must(err)
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		stop()
		if err != nil || n != size {
			t.Errorf("%d bytes, error %v", n, err)
		}
		if *peak > 32<<20 {
			t.Errorf("http/2 %v: the heap grew by %d MiB", h2, *peak>>20)
		}
	}
}

// watchHeap notes by how much the heap in use grows until stop is called.
func watchHeap() (stop func(), peak *uint64) {
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	peak = new(uint64)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				*peak = max(*peak, now.HeapInuse-min(now.HeapInuse, before.HeapInuse))
			}
		}
	})
	return func() { close(done); wg.Wait() }, peak
}
