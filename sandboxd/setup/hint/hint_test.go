package hint_test

import (
	"testing"

	"github.com/sallyport/sallyport/sandboxd/setup/hint"
)

// Ledger: SV-19
func TestRecognise(t *testing.T) {
	t.Parallel()
	cases := []struct {
		exit   int
		output string
		want   hint.Code
	}{
		{1, "dd: error writing 'x': No space left on device", hint.NoSpace},
		{1, "npm ERR! code ENOSPC", hint.NoSpace},
		{100, "E: You don't have enough free space in /var/cache/apt/archives/.", hint.NoSpace},
		{1, "OSError: [Errno 28] No space left on device", hint.NoSpace},
		{137, "", hint.OutOfMemory},
		{2, "g++: fatal error: Killed signal terminated program cc1plus\nmake: *** Killed", hint.OutOfMemory},
		{1, "Traceback (most recent call last):\nMemoryError", hint.OutOfMemory},
		{134, "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", hint.OutOfMemory},
		{56, "curl: (56) CONNECT tunnel failed, response 403", hint.NetworkBlocked},
		{56, "curl: (56) Received HTTP code 403 from proxy after CONNECT", hint.NetworkBlocked},
		{22, "curl: (22) The requested URL returned error: 403 Blocked by Sallyport: network_policy_denied (a.example.com)", hint.NetworkBlocked},
		{1, "ProxyError('Cannot connect to proxy.', OSError('Tunnel connection failed: 403 Blocked by Sallyport'))", hint.NetworkBlocked},
		{100, "Err:1 http://registry.example.com/debian bookworm InRelease\n  403  Blocked by Sallyport: network_policy_denied", hint.NetworkBlocked},
		{6, "curl: (6) Could not resolve host: a.example.com", hint.DNSBlocked},
		{128, "fatal: unable to access 'https://a.example.com/': Could not resolve host: a.example.com", hint.DNSBlocked},
		{1, "npm ERR! request to https://a.example.com failed, reason: getaddrinfo ENOTFOUND a.example.com", hint.DNSBlocked},
		{1, "dial tcp: lookup a.example.com on 192.0.2.53:53: no such host", hint.DNSBlocked},
		{100, "Temporary failure resolving 'a.example.com'", hint.DNSBlocked},
		{60, "curl: (60) SSL certificate problem: unable to get local issuer certificate", hint.UntrustedCertificate},
		{1, "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", hint.UntrustedCertificate},
		{1, "tls: failed to verify certificate: x509: certificate signed by unknown authority", hint.UntrustedCertificate},
		{100, "E: Unable to locate package nosuchthing", hint.PackageNotFound},
		{1, "ERROR: No matching distribution found for nosuchthing==1.0", hint.PackageNotFound},
		{1, "npm ERR! code E404\nnpm ERR! 404 Not Found - GET https://registry.example.com/nosuchthing", hint.PackageNotFound},
		{100, "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)\nE: Unable to acquire the dpkg frontend lock, are you root?", hint.NotRoot},
		{1, "This script must be run as root", hint.NotRoot},
		{1, "mkdir: cannot create directory '/opt/x': Permission denied", hint.PermissionDenied},
		{243, "npm ERR! code EACCES", hint.PermissionDenied},
		{126, "setup.sh: line 2: ./x: Permission denied", hint.PermissionDenied},
		{127, "setup.sh: line 3: cargo: command not found", hint.CommandNotFound},
		{127, "/usr/bin/env: 'node': No such file or directory", hint.CommandNotFound},
		{127, "", hint.CommandNotFound},
		{1, "cat: x: No such file or directory", ""},
		{1, "AssertionError: 403 != 200", ""},
		{2, "make: *** [all] Error 1", ""},
		{1, "", ""},
		{0, "", ""},
	}
	for _, c := range cases {
		got := hint.Recognise(hint.Failure{ExitCode: c.exit, Output: c.output})
		if got.Code != c.want {
			t.Errorf("exit %d, %q: got %q, want %q", c.exit, c.output, got.Code, c.want)
		}
		if (got.Text == "") != (c.want == "") {
			t.Errorf("%q: text %q", c.want, got.Text)
		}
	}
	if got := hint.Recognise(hint.Failure{ExitCode: 124, TimedOut: true, Output: "No space left on device"}); got.Code != hint.Timeout {
		t.Errorf("got %q", got.Code)
	}
	if got := hint.Recognise(hint.Failure{ExitCode: 137, Exhausted: true}); got.Code != hint.OutOfMemory {
		t.Errorf("got %q", got.Code)
	}
}
