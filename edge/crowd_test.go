package edge_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport/sallyport/edge"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
)

// 200 boundaries at once, each with a secret of its own for the same host: each
// request carries its own boundary's, and once they are done no goroutine is
// left. SALLYPORT_SOAK=1 (make soak) lets it last a minute.
func TestManyBoundaries(t *testing.T) {
	const boundaries, workers = 200, 2 // connections of each
	rounds, length := 3, time.Duration(0)
	if os.Getenv("SALLYPORT_SOAK") == "1" {
		rounds, length = 0, time.Minute
	}
	b := newBed(t)
	b.opts.Timeouts = edge.Timeouts{Handshake: time.Minute, Dial: time.Minute} // of a busy machine under the race detector
	b.origin("bound.allowed.test", func(w http.ResponseWriter, r *http.Request) {
		if got, want := r.Header.Get("Authorization"), "Bearer real-secret-of-"+r.Header.Get("X-Box"); got != want {
			t.Errorf("%s was sent, want %s", got, want)
		}
		fmt.Fprint(w, "ok")
	})
	placeholders := make([]string, boundaries)
	for i := range placeholders {
		id := fmt.Sprintf("box-%03d", i)
		b.must(b.secrets.Set(id, []byte("real-secret-of-"+id)))
		own := inject.Binding{Env: "API_TOKEN", Host: "bound.allowed.test", Secret: "mem:" + id}
		placeholders[i] = b.put(boundary.Spec{ID: id, Bindings: []inject.Binding{own}}, defaultPolicy)["API_TOKEN"]
	}
	b.start()
	proxies := make([]string, boundaries)
	for i := range proxies {
		proxies[i] = b.serveProxy(fmt.Sprintf("box-%03d", i))
	}
	goroutines := runtime.NumGoroutine()

	var requests atomic.Int64
	var wg sync.WaitGroup
	opening := make(chan struct{}, 16)
	start := time.Now()
	for i := range boundaries * workers {
		wg.Go(func() {
			box := i % boundaries
			tr := &http.Transport{
				Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: proxies[box]}),
				TLSClientConfig: &tls.Config{RootCAs: pool(b.opts.Authority)},
			}
			defer tr.CloseIdleConnections()
			for n := 0; n < rounds || time.Since(start) < length; n++ {
				req, err := http.NewRequest(http.MethodGet, "https://bound.allowed.test/", nil)
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("X-Box", fmt.Sprintf("box-%03d", box))
				req.Header.Set("Authorization", "Bearer "+placeholders[box])
				if n == 0 {
					opening <- struct{}{}
				}
				resp, err := tr.RoundTrip(req)
				if n == 0 {
					<-opening
				}
				if err != nil {
					t.Errorf("box %d: %v", box, err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("box %d: %s", box, resp.Status)
				}
				requests.Add(1)
			}
		})
	}
	wg.Wait()
	t.Logf("%d requests of %d boundaries, %.0f a second", requests.Load(), boundaries, float64(requests.Load())/time.Since(start).Seconds())
	for i := range boundaries {
		b.table.Delete(fmt.Sprintf("box-%03d", i))
	}
	// Connections upstream are kept for a while, for whoever comes next; what
	// is left beyond theirs is a leak.
	for deadline := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > goroutines+20; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
		}
	}
}
