package api_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkReads reports how many reads a second the whole API answers over
// HTTP, with authentication, and how long the slowest hundredth takes.
func BenchmarkReads(b *testing.B) {
	s := start(b)
	var path string
	for i := range 200 {
		path, _ = s.create(b, fmt.Sprintf(`{"name":"n%d","provider":"runs","setup":{"script":"set -x\napt-get install -y jq"},"env_vars":{"A":"1"},"network_policy":%s}`, i, npmOnly))
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	client := &http.Client{Transport: transport}
	b.Cleanup(transport.CloseIdleConnections)
	for _, c := range []struct{ name, path string }{{"get", path}, {"list 50", "/v1/environments"}, {"runs", path + "/setup_runs"}} {
		b.Run(c.name, func(b *testing.B) {
			var mu sync.Mutex
			var took []time.Duration
			b.SetParallelism(4)
			b.RunParallel(func(pb *testing.PB) {
				var own []time.Duration
				for pb.Next() {
					begin := time.Now()
					r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.URL+c.path, nil)
					if err != nil {
						b.Error(err)
						return
					}
					r.Header.Set("Authorization", "Bearer "+s.admin)
					res, err := client.Do(r)
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, res.Body)
					res.Body.Close()
					own = append(own, time.Since(begin))
				}
				mu.Lock()
				took = append(took, own...)
				mu.Unlock()
			})
			slices.Sort(took)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99")
		})
	}
}
