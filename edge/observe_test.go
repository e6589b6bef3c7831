package edge_test

import (
	"net/http"
	"testing"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
)

// A boundary that is only observed lets through what its policy denies, and
// enforces all else.
//
// Ledger: NP-23, ED-7, ED-9
func TestObserve(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("other.test", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	b.origin("bound.allowed.test", func(http.ResponseWriter, *http.Request) { t.Error("a secret's host was let through") })
	b.opts.DeniedPorts = []uint16{25}
	const nothing = `{"version":"v1","rules":[]}`
	env := b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{binding}, Observe: true}, nothing)
	b.start()
	cases := []struct {
		name, url, placeholder string
		status                 int
		verdict, reason        string
	}{
		{"denied", "https://other.test/", "", 204, audit.VerdictObserve, "network_policy_denied"},
		{"placeholder for another host", "https://other.test/", env["API_TOKEN"], 403, audit.VerdictDeny, "placeholder_wrong_host"},
		{"host with a binding", "https://bound.allowed.test/", "", 403, audit.VerdictDeny, "network_policy_denied"},
		{"private address", "https://127.0.0.1/", "", 403, audit.VerdictDeny, "private_address"},
		{"denied port", "http://other.test:25/", "", 403, audit.VerdictDeny, "port_denied"},
	}
	for _, c := range cases {
		b.records = nil
		req, err := http.NewRequest(http.MethodGet, c.url, nil)
		b.must(err)
		if c.placeholder != "" {
			req.Header.Set("Authorization", "Bearer "+c.placeholder)
		}
		resp, err := b.client(false).Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != c.status {
				t.Errorf("%s: status %d, want %d", c.name, resp.StatusCode, c.status)
			}
		}
		if err != nil && c.status < 400 {
			t.Errorf("%s: %v", c.name, err)
		}
		found := false
		for _, r := range b.recorded(1) {
			found = found || r.Verdict == c.verdict && r.Reason == c.reason
		}
		if !found {
			t.Errorf("%s: recorded %+v", c.name, b.recorded(1))
		}
	}
	// A policy that is enforced again counts from the next request on.
	b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{binding}}, nothing)
	if resp, err := b.client(false).Get("https://other.test/"); err == nil {
		resp.Body.Close()
		t.Errorf("status %d after observing ended", resp.StatusCode)
	}
}
