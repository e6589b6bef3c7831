package edge_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/bodymac"
	"github.com/sallyport/sallyport/inject/oauth2"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/sigv4"
	"github.com/sallyport/sallyport/policy"
)

// kindBed is a bed whose resolver knows every kind of binding.
func kindBed(t *testing.T) *bed {
	t.Helper()
	b := newBed(t)
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			host, port, err := policy.CanonicalAuthority(addr, 0)
			if err != nil {
				return nil, err
			}
			return b.opts.Dialer.DialContext(ctx, host, port)
		},
		TLSClientConfig: &tls.Config{RootCAs: b.opts.Roots},
	}
	t.Cleanup(transport.CloseIdleConnections)
	b.opts.Resolver = inject.NewResolverWith(inject.ResolverOptions{
		Sources: map[string]secret.Source{"mem": b.secrets, "pem": texts(nil)},
		Signers: map[inject.Kind]inject.Signer{inject.KindAWS: sigv4.Signer{}, inject.KindHMAC: bodymac.Signer{}},
		Exchangers: map[inject.Kind]inject.Exchanger{
			inject.KindClientCredentials: oauth2.Exchanger{Transport: transport},
			inject.KindRefreshToken:      oauth2.Exchanger{Transport: transport},
			inject.KindServiceAccount:    oauth2.ServiceAccounts{Transport: transport},
		},
	})
	return b
}

// texts is a source of values that no header can carry.
type texts map[string]string

func (s texts) Read(_ context.Context, name string) (secret.Secret, error) {
	value, ok := s[name]
	if !ok {
		return secret.Secret{}, secret.ErrNotFound
	}
	return secret.Secret{Value: secret.NewValue([]byte(value)), Version: "1"}, nil
}

// clientCertificate makes a certificate and its key, PEM, signed by itself.
func clientCertificate(t *testing.T, name string) (pair string, cert *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})) +
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})), cert
}

// An origin that wants a client certificate gets the boundary's, and no other
// boundary's requests travel on that connection. Ledger: SI-1, SI-11
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	b := kindBed(t)
	pair, cert := clientCertificate(t, "robot")
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	b.opts.Resolver = inject.NewResolver(map[string]secret.Source{"pem": texts{"robot": pair, "broken": "no PEM " + secret1}})
	b.originTLS("bound.allowed.test", 443, &tls.Config{
		NextProtos: []string{"h2", "http/1.1"}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: roots,
	}, func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) > 0 {
			io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
		}
	})
	show := inject.Binding{
		Kind: inject.KindCertificate, Env: "ROBOT", Host: "bound.allowed.test", Secret: "pem:robot",
		Match: &inject.Match{PathPrefix: "/robot"},
	}
	b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{show}}, defaultPolicy)
	b.put(boundary.Spec{ID: "other"}, defaultPolicy)
	b.start()
	others := &bed{TB: t, opts: b.opts, proxy: b.serveProxy("other")}
	for _, h2 := range []bool{false, true} {
		mine, theirs := b.client(h2), others.client(h2)
		for range 2 {
			if _, got := b.get(mine, "https://bound.allowed.test/robot/x"); got != "robot" {
				t.Errorf("the origin saw %q", got)
			}
			if _, got := b.get(mine, "https://bound.allowed.test/plain"); got != "" {
				t.Errorf("a request that the binding doesn't mean showed %q", got)
			}
			if _, got := b.get(theirs, "https://bound.allowed.test/robot/x"); got != "" {
				t.Errorf("another boundary showed %q", got)
			}
		}
	}
	show.Secret = "pem:broken"
	b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{show}}, defaultPolicy)
	resp, err := b.client(false).Get("https://bound.allowed.test/robot/x")
	b.must(err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("without a certificate: %d", resp.StatusCode)
	}
	for _, r := range b.recorded(13) {
		if strings.Contains(r.Detail, secret1) || strings.Contains(r.Detail, "PRIVATE") {
			t.Errorf("record quotes the key: %s", r.Detail)
		}
	}
}

// Case: C17. Ledger: SI-4, SI-14
func TestHMAC(t *testing.T) {
	t.Parallel()
	b := kindBed(t)
	check := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the edge broke it off
		}
		mac := hmac.New(sha256.New, []byte(secret1))
		at := r.Header.Get("X-Timestamp")
		io.WriteString(mac, "v0:"+at+":"+r.Method+":"+r.URL.RequestURI()+":")
		mac.Write(body)
		if want := "v0=" + hex.EncodeToString(mac.Sum(nil)); at == "" || len(r.Header["X-Signature"]) != 1 || r.Header.Get("X-Signature") != want {
			t.Errorf("%s %s of %d bytes: signed %q, want %q", r.Method, r.URL, len(body), r.Header["X-Signature"], want)
		}
		io.WriteString(w, "checked")
	}
	b.origin("bound.allowed.test", check)
	env := b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{{
		Kind: inject.KindHMAC, Env: "HOOK_KEY", Host: "bound.allowed.test", Secret: "mem:token",
		Header: "X-Signature", Format: "v0={value}",
		HMAC: &inject.HMAC{Message: "v0:{timestamp}:{method}:{path}:{body}", TimestampHeader: "X-Timestamp", MaxBody: 1 << 16},
	}}}, defaultPolicy)
	b.start()
	cases := []struct {
		name, method, body string
		status             int
	}{
		{"no body", "GET", "", 200},
		{"fields in the body are no fields", "POST", "{body}{timestamp}", 200},
		{"at the cap", "POST", strings.Repeat("x", 1<<16), 200},
		{"past the cap", "POST", strings.Repeat("x", 1<<16+1), 413},
		{"secret in the body", "POST", "leak " + secret1 + " leak", 403},
	}
	for _, h2 := range []bool{false, true} {
		for _, c := range cases {
			for _, known := range []bool{true, false} {
				var body io.Reader = strings.NewReader(c.body)
				if !known {
					body = struct{ io.Reader }{body}
				}
				req, err := http.NewRequest(c.method, "https://bound.allowed.test/hook?a=%2f&b", body)
				b.must(err)
				req.Header.Set("X-Signature", "forged")
				resp, err := b.client(h2).Do(req)
				b.must(err)
				got, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != c.status || c.status == 200 && string(got) != "checked" {
					t.Errorf("%s, h2 %v, length known %v: %d %s", c.name, h2, known, resp.StatusCode, got)
				}
				if bytes.Contains(got, []byte(secret1)) {
					t.Errorf("%s: the answer holds the key", c.name)
				}
			}
		}
	}
	if env["HOOK_KEY"] == "" {
		t.Error("no placeholder")
	}
}
