package metrics_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/metrics"
	"github.com/sallyport/sallyport/inject"
)

type records []audit.Record

func (r *records) Record(one audit.Record) { *r = append(*r, one) }

func one() int { return 1 }

// Ledger: LO-5
func TestMetrics(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Sources{
		Boundaries: one, Tunnels: one, Crossings: one,
		Leaves: func() certs.Stats { return certs.Stats{Minted: 7, Cached: 3} },
	})
	var passed records
	sink := m.Sink(&passed)
	sink.Record(audit.Record{Mode: "explicit", Protocol: "h2", Verdict: "allow", Reason: "allowed", Host: "chosen.example.com",
		Path: "/chosen", Boundary: "chosen-box", BytesUp: 5, Injected: []inject.Injected{{Secret: "store:chosen"}}})
	sink.Record(audit.Record{Mode: "dns", Protocol: "dns", Verdict: "deny", Reason: "network_policy_denied", Host: "chosen.test"})
	if len(passed) != 2 {
		t.Errorf("%d records passed on", len(passed))
	}
	text := get(t, m.Handler(func() string { return "" }), "/metrics", http.StatusOK)
	for _, want := range []string{
		`sallyport_edge_crossings_total{mode="explicit",reason="allowed",verdict="allow"} 1`,
		`sallyport_edge_crossings_total{mode="dns",reason="network_policy_denied",verdict="deny"} 1`,
		`sallyport_edge_injections_total 1`, `sallyport_edge_bytes_total{direction="up"} 5`,
		`sallyport_edge_tunnels 1`, `sallyport_edge_certificates_cached 3`, `sallyport_edge_certificates_minted_total 7`,
		`sallyport_edge_crossing_duration_seconds_count{protocol="h2"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	if strings.Contains(text, "chosen") {
		t.Error("a label holds what a sandbox chose")
	}
}

// Ledger: LO-6
func TestHealth(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Sources{Boundaries: one, Tunnels: one, Crossings: one, Leaves: func() certs.Stats { return certs.Stats{} }})
	why := ""
	h := m.Handler(func() string { return why })
	get(t, h, "/readyz", http.StatusOK)
	why = "stopping"
	if text := get(t, h, "/readyz", http.StatusServiceUnavailable); text != "stopping\n" {
		t.Errorf("why not: %q", text)
	}
	get(t, h, "/healthz", http.StatusOK)
}

func get(t *testing.T, h http.Handler, path string, status int) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != status {
		t.Errorf("%s: %d, %v", path, w.Code, err)
	}
	return string(body)
}
