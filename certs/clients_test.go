package certs_test

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/certs"
)

func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// origin is a TLS server on loopback with leaves of a. It isn't an httptest
// server: those have a certificate of their own, which crypto/tls prefers to
// GetCertificate for a client without SNI.
func origin(t *testing.T, a *certs.Authority) (port string) {
	t.Helper()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		return a.Leaf(cmp.Or(h.ServerName, "127.0.0.1"))
	}})
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }),
		ErrorLog: log.New(io.Discard, "", 0),
	}
	done := make(chan struct{})
	go func() { defer close(done); srv.Serve(ln) }()
	t.Cleanup(func() { srv.Close(); <-done })
	_, port, err = net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func run(t *testing.T, env []string, argv ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", filepath.Base(argv[0]), err, out)
	}
	return string(out)
}

// Case: A25
func TestOpenSSLStrict(t *testing.T) {
	t.Parallel()
	openssl := tool(t, "openssl")
	a := newAuthority(t)
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, a.CertificatePEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, host := range []string{"api.example.com", "192.0.2.7", "2001:db8::7", "_dmarc.example.com", longName()} {
		file := filepath.Join(dir, fmt.Sprint(i))
		l := leaf(t, a, host)
		if err := os.WriteFile(file, pemOf(l.Raw), 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, nil, openssl, "verify", "-x509_strict", "-purpose", "sslserver", "-check_ss_sig", "-CAfile", ca, file)
	}
	trust := newTrust(t, a, dir)
	if err := trust.Write(); err != nil {
		t.Fatal(err)
	}
	hash := strings.TrimSpace(run(t, nil, openssl, "x509", "-hash", "-noout", "-in", ca))
	if _, ok := trust.Files()[filepath.Join(dir, "certs", hash+".0")]; !ok {
		t.Errorf("no file for the hash %s that openssl looks for", hash)
	}
	run(t, nil, openssl, "verify", "-x509_strict", "-no-CAfile", "-no-CAstore", "-CApath", filepath.Join(dir, "certs"), filepath.Join(dir, "0"))
}

const pythonClient = `
import ssl, socket, sys
ctx = ssl.create_default_context()
ctx.verify_flags |= ssl.VERIFY_X509_STRICT
for host in sys.argv[2:]:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
        with ctx.wrap_socket(s, server_hostname=host) as tls:
            print(tls.version())
`

// Case: A25
func TestPythonStrict(t *testing.T) {
	t.Parallel()
	python := tool(t, "/usr/bin/python3")
	a := newAuthority(t)
	trust := newTrust(t, a, t.TempDir())
	if err := trust.Write(); err != nil {
		t.Fatal(err)
	}
	run(t, environ(trust), python, "-c", pythonClient, origin(t, a), "api.example.com", "127.0.0.1", "a_b.example.com", strings.Repeat("a", 63)+".example.com")
}

func environ(trust *certs.Trust) []string {
	var env []string
	for name, value := range trust.Env(nil) {
		env = append(env, name+"="+value)
	}
	return env
}

const nodeClient = `
const https = require('https');
https.get({host: '127.0.0.1', port: process.argv[1], servername: 'api.example.com', headers: {host: 'api.example.com'}},
  r => r.on('data', d => process.stdout.write(d))).on('error', e => { console.error(e); process.exit(1) });
`

const javaClient = `
public class Client { public static void main(String[] a) throws Exception {
  try (var in = new java.net.URL("https://127.0.0.1:" + a[0] + "/").openStream()) { System.out.write(in.readAllBytes()); System.out.flush(); } } }
`

// Ledger: ED-36
func TestRuntimesTrustTheLeaves(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	trust := newTrust(t, a, t.TempDir())
	if err := trust.Write(); err != nil {
		t.Fatal(err)
	}
	port := origin(t, a)
	source := filepath.Join(t.TempDir(), "Client.java")
	if err := os.WriteFile(source, []byte(javaClient), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		argv []string
		want string // in the output
	}{
		{"curl", []string{"--noproxy", "*", "-sS", "--connect-to", "api.example.com:443:127.0.0.1:" + port, "https://api.example.com/"}, "hello"},
		{"node", []string{"-e", nodeClient, port}, "hello"},
		{"java", []string{source, port}, "hello"},
		{"openssl", []string{"s_client", "-verify_return_error", "-servername", "api.example.com", "-verify_hostname", "api.example.com", "-connect", "127.0.0.1:" + port}, "Verification: OK"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if out := run(t, environ(trust), append([]string{tool(t, c.name)}, c.argv...)...); !strings.Contains(out, c.want) {
				t.Errorf("%s", out)
			}
		})
	}
}
