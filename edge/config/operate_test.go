package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/edge/config"
)

// Ledger: ED-19, ED-26
func TestOperationIsChecked(t *testing.T) {
	t.Parallel()
	const bound = "boundaries: [{id: ci, bindings: [{env: T, host: a.pinned.test, secret: 'env:T'}]}]"
	cases := []struct{ in, want string }{
		{"no_intercept: ['*.pinned.test']\n" + bound, "boundaries[0].bindings[0].host: a.pinned.test is in no_intercept"},
		{"no_intercept: ['other.test']\n" + bound, ""},
		{"intercept: bound\n" + bound, ""},
		{"intercept: none", "intercept: expected"},
		{"no_intercept: ['a..b']", "no_intercept[0]"},
		{"tracing: {}", "tracing.endpoint: expected a URL"},
		{"tracing: {endpoint: 'grpc://collector.test:4317'}", "tracing.endpoint: expected a URL"},
		{"tracing: {endpoint: 'https://user:word@collector.test'}", "tracing.endpoint: expected a URL"},
		{"tracing: {endpoint: 'https://collector.test', sample: 0}", "tracing.sample: expected a share"},
		{"tracing: {endpoint: 'https://collector.test', smaple: 1}", "tracing.smaple: unknown key"},
		{"limits: {tunnels: -1}", "limits.tunnels: expected a number"},
		{"limits: {all_tunnels: -1}", "limits.all_tunnels: expected a number"},
		{"limits: {requests: 1}", "limits.requests: unknown key"},
		{"boundaries: [{id: ci, limits: {dns_queries_per_second: -2}}]", "boundaries[0].limits.dns_queries_per_second"},
		{"boundaries: [{id: ci, limits: {all_tunnels: 2}}]", "boundaries[0].limits.all_tunnels: unknown key"},
		{"timeouts: {drain: soon}", "timeouts.drain: expected a duration"},
		{"upstream: {proxy: proxy.test}", "upstream.proxy: expected a URL"},
		{"upstream: {proxy: 'http://a:b@proxy.test:1'}", "upstream.proxy: credentials belong in"},
		{"upstream: {proxy: 'http://proxy.test:1', proxy_credentials_file: empty}", "upstream.proxy_credentials_file: expected one line"},
		{"upstream: {proxy: 'http://proxy.test:1', proxy_credentials_file: good}", ""},
		{"upstream: {proxy_credentials_file: good}", "upstream.proxy_credentials_file: there is no"},
	}
	for _, c := range cases {
		dir := directory(t, map[string]string{
			"edge.yaml": "state: state\nlisten: {control: c, metrics: '127.0.0.1:0'}\n" + c.in + "\n", "empty": "\n", "good": "user:pass:word\n",
		})
		loaded, err := config.Load(filepath.Join(dir, "edge.yaml"))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.in, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", c.in, err, c.want)
		case err == nil && loaded.Upstream.Proxy != nil:
			if password, _ := loaded.Upstream.Proxy.User.Password(); password != "pass:word" {
				t.Errorf("password %q", password)
			}
		}
	}
}
