package certs

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/sallyport/sallyport/certs/variables"
)

const noProxy = "localhost,127.0.0.1,::1"

// Env returns the variables that make runtimes trust the CA and, unless proxy
// is nil, use the proxy at that URL. Both are one map because Java takes both
// from one variable. The caller owns the map.
func (t *Trust) Env(proxy *url.URL) map[string]string {
	env := ProxyEnv(proxy)
	for _, name := range variables.Replacing() {
		env[name] = t.path(bundleFile)
	}
	for _, name := range variables.Adding() {
		env[name] = t.path(caFile)
	}
	env[variables.CertDir] = t.path(hashedDir)
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
	env[variables.Java] = strings.Join(java, " ")
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
	env := map[string]string{variables.Node: "1"}
	through, off, around := variables.Proxy()
	for _, name := range through {
		env[name] = proxy.String()
	}
	for _, name := range off {
		env[name] = ""
	}
	for _, name := range around {
		env[name] = noProxy
	}
	return env
}
