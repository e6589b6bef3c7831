// Package variables knows the names of the environment variables that Sallyport
// sets in a sandbox: those that lead clients to the proxy, those that make them
// trust its CA, and those that make git ask the credential helper. Nobody who
// defines a sandbox may define them too.
//
// It holds names and nothing else, so that whoever checks definitions needn't
// link the authority. Package certs says what the values are.
package variables

import (
	"slices"
	"strings"
)

// The variables that take something else than a file of certificates.
const (
	CertDir = "SSL_CERT_DIR" // OpenSSL, Go: a hashed directory beside SSL_CERT_FILE
	Java    = "JAVA_TOOL_OPTIONS"
	Node    = "NODE_USE_ENV_PROXY" // Node.js 24 and later
)

// Replacing returns the variables whose file replaces the runtime's own roots.
// The caller owns the slice.
func Replacing() []string {
	return []string{
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
}

// Adding returns the variables whose file is read beside the runtime's own
// roots. The caller owns the slice.
func Adding() []string {
	return []string{
		"NODE_EXTRA_CA_CERTS", // Node.js
		"DENO_CERT",           // Deno
	}
}

// Proxy returns the variables that name the proxy, and those that name what
// goes around it, in both of the spellings that clients read. The caller owns
// the slices.
func Proxy() (through, off, around []string) {
	return []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"},
		[]string{"ALL_PROXY", "all_proxy"},
		[]string{"NO_PROXY", "no_proxy"}
}

// own are the names, and with a trailing * the beginnings of names, by which
// Sallyport's own programs in the sandbox and its credential helper are set up.
var own = []string{"SALLYPORT_*", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_*", "GIT_CONFIG_VALUE_*", "GIT_TERMINAL_PROMPT"}

// Reserved reports whether a variable is Sallyport's (ledger ED-38, SI-20), in
// any case: Python's urllib reads a variable such as "Https_Proxy" too.
func Reserved(name string) bool {
	return slices.ContainsFunc(slices.Concat(Names(), own), func(r string) bool {
		if prefix, ok := strings.CutSuffix(r, "*"); ok {
			return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
		}
		return strings.EqualFold(r, name)
	})
}

// Names returns the variables that package certs sets, sorted. The caller owns
// the slice.
func Names() []string {
	through, off, around := Proxy()
	names := slices.Concat(Replacing(), Adding(), through, off, around, []string{CertDir, Java, Node})
	slices.Sort(names)
	return names
}
