package certs

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// replacing are the variables whose file replaces the runtime's own roots: they
// get the combined bundle.
var replacing = []string{
	"SSL_CERT_FILE",                    // OpenSSL, Go, Ruby, rustls, uv
	"REQUESTS_CA_BUNDLE",               // Python requests
	"CURL_CA_BUNDLE",                   // curl
	"GIT_SSL_CAINFO",                   // git
	"PIP_CERT",                         // pip
	"CARGO_HTTP_CAINFO",                // cargo
	"AWS_CA_BUNDLE",                    // AWS CLI and SDKs
	"npm_config_cafile",                // npm
	"BUNDLE_SSL_CA_CERT",               // Bundler
	"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", // gRPC core: Python, Ruby, C++, PHP
}

// adding are the variables whose file is read beside the runtime's own roots:
// they get the CA alone.
var adding = []string{
	"NODE_EXTRA_CA_CERTS", // Node.js
	"DENO_CERT",           // Deno
}

const (
	certDirVar = "SSL_CERT_DIR" // OpenSSL, Go: beside SSL_CERT_FILE
	javaVar    = "JAVA_TOOL_OPTIONS"
	noProxy    = "localhost,127.0.0.1,::1"
)

// Env returns the variables that make runtimes trust the CA and, unless proxy
// is nil, use the proxy at that URL. Both are one map because Java takes both
// from one variable. The caller owns the map.
func (t *Trust) Env(proxy *url.URL) map[string]string {
	env := ProxyEnv(proxy)
	for _, name := range replacing {
		env[name] = t.path(bundleFile)
	}
	for _, name := range adding {
		env[name] = t.path(caFile)
	}
	env[certDirVar] = t.path(hashedDir)
	java := []string{
		"-Djavax.net.ssl.trustStore=" + t.path(javaFile),
		"-Djavax.net.ssl.trustStoreType=PKCS12",
		"-Djavax.net.ssl.trustStorePassword=" + javaPassword,
	}
	if proxy != nil {
		host, port := proxy.Hostname(), cmp.Or(proxy.Port(), "80")
		java = append(java,
			"-Dhttp.proxyHost="+host, "-Dhttp.proxyPort="+port,
			"-Dhttps.proxyHost="+host, "-Dhttps.proxyPort="+port,
			"-Dhttp.nonProxyHosts=localhost|127.*|[::1]")
	}
	env[javaVar] = strings.Join(java, " ")
	return env
}

// ProxyEnv returns the variables that point every client at proxy, an http
// URL, and nothing but loopback around it (ledger ED-38). ALL_PROXY is set to
// nothing, so that an inherited one has no effect: clients take it for a SOCKS
// proxy or prefer it. A nil proxy gives an empty map. The caller owns the map.
func ProxyEnv(proxy *url.URL) map[string]string {
	if proxy == nil {
		return map[string]string{}
	}
	return map[string]string{
		"HTTPS_PROXY": proxy.String(), "https_proxy": proxy.String(),
		"HTTP_PROXY": proxy.String(), "http_proxy": proxy.String(),
		"ALL_PROXY": "", "all_proxy": "",
		"NO_PROXY": noProxy, "no_proxy": noProxy,
		"NODE_USE_ENV_PROXY": "1", // Node.js 24 and later
	}
}

// ReservedNames returns the variables that Env may set, sorted: an environment
// must not define them itself. The caller owns the slice.
func ReservedNames() []string {
	env := ProxyEnv(&url.URL{})
	for _, name := range slices.Concat(replacing, adding, []string{certDirVar, javaVar}) {
		env[name] = ""
	}
	return slices.Sorted(maps.Keys(env))
}

// Reserved reports whether name is one of ReservedNames in any case: Python's
// urllib reads a variable such as "Https_Proxy" too.
func Reserved(name string) bool {
	return slices.ContainsFunc(ReservedNames(), func(r string) bool { return strings.EqualFold(r, name) })
}
