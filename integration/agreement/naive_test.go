package main_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/integration/agreement/suite"
)

// A proxy that swaps the placeholder wherever it sees it, and goes where the
// Host field says: the suite has to notice both.
func TestNaiveProxyIsUnsafe(t *testing.T) {
	t.Parallel()
	programs(t)
	const secret, placeholder = "the-secret", "the-placeholder"
	authority, err := certs.New()
	if err != nil {
		t.Fatal(err)
	}
	base := netip.MustParseAddr("127.0.77.0")
	origins, err := suite.Listen(base, authority, secret)
	if err != nil {
		t.Fatal(err)
	}
	defer origins.Close()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, to string) (net.Conn, error) {
		host, port, _ := net.SplitHostPort(to)
		if net.ParseIP(host) == nil {
			host = suite.Address(base, host).String()
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	}}
	defer tr.CloseIdleConnections()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := r.Clone(r.Context())
		out.RequestURI = ""
		for name, values := range out.Header {
			out.Header.Set(name, strings.ReplaceAll(values[0], placeholder, secret))
		}
		resp, err := tr.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	defer proxy.Close()
	to, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := &suite.Client{Proxy: to, Placeholder: placeholder, Literal: suite.Address(base, "").String()}
	want := map[string]string{
		"explicit/absolute/denied":            "connections to " + suite.Denied,
		"explicit/absolute/literal":           "connections to literal",
		"explicit/absolute/bound-placeholder": "the secret arrived at " + suite.Bound + ":80",
	}
	for _, r := range suite.Rows() {
		if want[r.ID] == "" {
			continue
		}
		answers, err := client.Play(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		result := origins.Judge(r, answers)
		if !slices.ContainsFunc(result.Unsafe, func(s string) bool { return strings.Contains(s, want[r.ID]) }) {
			t.Errorf("%s: %+v, want %q", r.ID, result, want[r.ID])
		}
		delete(want, r.ID)
	}
	if len(want) > 0 {
		t.Errorf("no such rows: %v", want)
	}
}
