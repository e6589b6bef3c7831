package certs_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/certs/variables"
)

// Ledger: ED-36
// Ledger: ED-38
func TestEnv(t *testing.T) {
	t.Parallel()
	trust := newTrust(t, newAuthority(t), "/run/sallyport/trust")
	env := trust.Env(&url.URL{Scheme: "http", Host: "127.0.0.1:3128"})
	files := trust.Files()
	for _, name := range []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "CARGO_HTTP_CAINFO",
		"AWS_CA_BUNDLE", "npm_config_cafile", "BUNDLE_SSL_CA_CERT", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"} {
		// Case: A27
		if n := strings.Count(string(files[env[name]]), "BEGIN CERTIFICATE"); n < 2 {
			t.Errorf("%s=%s holds %d certificates", name, env[name], n)
		}
	}
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "DENO_CERT"} {
		if n := strings.Count(string(files[env[name]]), "BEGIN CERTIFICATE"); n != 1 {
			t.Errorf("%s=%s holds %d certificates", name, env[name], n)
		}
	}
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"} {
		if env[name] != "http://127.0.0.1:3128" {
			t.Errorf("%s=%q", name, env[name])
		}
	}
	want := map[string]string{"ALL_PROXY": "", "all_proxy": "", "NO_PROXY": "localhost,127.0.0.1,::1", "no_proxy": "localhost,127.0.0.1,::1",
		"NODE_USE_ENV_PROXY": "1", "SSL_CERT_DIR": "/run/sallyport/trust/certs",
		"JAVA_TOOL_OPTIONS": "-Djavax.net.ssl.trustStore=/run/sallyport/trust/truststore.p12 -Djavax.net.ssl.trustStoreType=PKCS12 -Djavax.net.ssl.trustStorePassword=changeit " +
			"-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128 -Dhttp.nonProxyHosts=localhost|127.*|[::1]"}
	for name, value := range want {
		if got, ok := env[name]; !ok || got != value {
			t.Errorf("%s=%q, %v, want %q", name, got, ok, value)
		}
	}
	names := variables.Names()
	for name := range env {
		if !slices.Contains(names, name) || !variables.Reserved(name) {
			t.Errorf("%s is set but not reserved", name)
		}
	}
	if len(names) != len(env) || !slices.IsSorted(names) {
		t.Errorf("%d names reserved, %d set", len(names), len(env))
	}
}

func TestEnvWithoutProxy(t *testing.T) {
	t.Parallel()
	env := newTrust(t, newAuthority(t), "/t").Env(nil)
	for name, value := range env {
		if strings.Contains(strings.ToLower(name+value), "proxy") {
			t.Errorf("%s=%s", name, value)
		}
	}
	if env["SSL_CERT_FILE"] == "" {
		t.Error("no trust either")
	}
}
