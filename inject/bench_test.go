package inject_test

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport/inject"
)

// headers is what a typical client sends besides its credentials.
func headers() http.Header {
	return http.Header{
		"Accept": {"*/*"}, "Accept-Encoding": {"gzip"}, "Content-Type": {"application/json"},
		"User-Agent": {"client/1.2.3 (linux; amd64)"}, "X-Request-Id": {"7d0b9a4e-5b1e-4c1f-9a5c-1f2e3d4c5b6a"},
		"Authorization": {"Bearer own-credential-of-the-client"},
	}
}

// cpuTime is what this process has used: on a busy machine the clock says
// little.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func BenchmarkApply(b *testing.B) {
	set := compile(b, good())
	from := holding(b, map[string]string{"token": plain})
	basic := &http.Request{Header: make(http.Header)}
	basic.SetBasicAuth("x-access-token", set.Env()["API_TOKEN"])
	cases := []struct {
		name string
		set  *inject.Set
		host string
		auth string
	}{
		{"no bindings", compile(b), "other.example.com", ""},
		{"unbound host", set, "other.example.com", ""},
		{"bound host, nothing to swap", set, "api.example.com", ""},
		{"bound host, swapped", set, "api.example.com", "Bearer " + set.Env()["API_TOKEN"]},
		{"bound host, Basic", set, "api.example.com", basic.Header.Get("Authorization")},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			r := request("https://" + c.host + "/v1/models?limit=20")
			r.Header = headers()
			if c.auth != "" {
				r.Header.Set("Authorization", c.auth)
			}
			auth := r.Header["Authorization"]
			dest := https(b, c.host)
			ctx := b.Context()
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				r.Header["Authorization"] = auth
				if _, err := c.set.Apply(ctx, r, dest, from); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}
