package edge_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
)

// Ledger: SI-1, SI-18, ED-22, NP-23
func TestInjection(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var seen atomic.Pointer[http.Header]
	note := func(w http.ResponseWriter, r *http.Request) {
		h := r.Header.Clone()
		seen.Store(&h)
		if r.URL.Path == "/moved" {
			w.Header().Set("Location", "https://www.allowed.test/")
			w.WriteHeader(http.StatusFound)
		}
	}
	b.origin("bound.allowed.test", note)
	b.origin("www.allowed.test", note)
	b.originHTTP("bound.allowed.test", 80, note)
	env := b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{binding}}, defaultPolicy)
	placeholder := env["API_TOKEN"]
	b.start()
	cases := []struct {
		name, url, header string
		status            int
		reason, want      string // want: Authorization at the origin
	}{
		{"bound", "https://bound.allowed.test/", "Authorization", 200, "", "Bearer " + secret1},
		{"redirect comes back", "https://bound.allowed.test/moved", "Authorization", 302, "", "Bearer " + secret1},
		{"other host", "https://www.allowed.test/", "Authorization", 403, "placeholder_wrong_host", ""},
		{"other header", "https://bound.allowed.test/", "X-Api-Key", 403, "placeholder_wrong_host", ""},
		{"cleartext", "http://bound.allowed.test/", "Authorization", 403, "placeholder_wrong_host", ""},
	}
	for _, h2 := range []bool{false, true} {
		for _, c := range cases {
			seen.Store(nil)
			req, err := http.NewRequest("GET", c.url, nil)
			b.must(err)
			req.Header.Set(c.header, "Bearer "+placeholder)
			resp, err := b.client(h2).Do(req)
			b.must(err)
			resp.Body.Close()
			if resp.StatusCode != c.status || resp.Header.Get("X-Edge-Reason") != c.reason {
				t.Errorf("%s: %d %s", c.name, resp.StatusCode, resp.Header.Get("X-Edge-Reason"))
			}
			got := ""
			if h := seen.Load(); h != nil {
				got = h.Get("Authorization")
			}
			if got != c.want {
				t.Errorf("%s: origin saw %q, want %q", c.name, got, c.want)
			}
		}
	}
	records := b.recorded(len(cases) * 2)
	if in := records[0].Injected; len(in) != 1 || in[0].Env != "API_TOKEN" || in[0].Header != "Authorization" || in[0].Secret != "mem:token" {
		t.Errorf("injected %+v", in)
	}
	all, err := json.Marshal(records)
	b.must(err)
	if bytes.Contains(all, []byte(secret1)) {
		t.Error("a record holds the secret")
	}
}

// The client can't take an injected header off again. Case: A31
func TestConnectionCantNameInjectedHeader(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("bound.allowed.test", echoHeaders)
	set := binding
	set.Mode, set.Format = inject.ModeSet, "Bearer {value}"
	env := b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{set}}, defaultPolicy)
	b.start()
	k := b.inside("bound.allowed.test")
	k.send("GET / HTTP/1.1\r\nHost: bound.allowed.test\r\nConnection: Authorization, X-Trace\r\nX-Trace: 1\r\n\r\n")
	// The placeholder, which nobody sent, is what the answer has for the secret.
	if _, body := k.response("GET"); !strings.Contains(body, "Bearer "+env["API_TOKEN"]) || strings.Contains(body, "X-Trace") {
		t.Errorf("origin saw %q", body)
	}
}

// Ledger: SI-11
func TestSecretUnavailable(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("bound.allowed.test", func(http.ResponseWriter, *http.Request) { t.Error("request went out without its secret") })
	b.secrets.Delete("token")
	env := b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{binding}}, defaultPolicy)
	b.start()
	req, err := http.NewRequest("GET", "https://bound.allowed.test/", nil)
	b.must(err)
	req.Header.Set("Authorization", "Bearer "+env["API_TOKEN"])
	resp, err := b.client(false).Do(req)
	b.must(err)
	resp.Body.Close()
	if resp.StatusCode != 503 || resp.Header.Get("X-Edge-Reason") != "secret_unavailable" || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
}

// Policy comes first: a denied host's secret isn't looked up. Ledger: NP-23
func TestBindingOpensNoHost(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{binding}}, `{"version":"v1","rules":[]}`)
	b.start()
	k := b.dial(b.proxy)
	k.send("CONNECT bound.allowed.test:443 HTTP/1.1\r\nHost: bound.allowed.test:443\r\n\r\n")
	if resp, _ := k.response("GET"); resp.StatusCode != 403 {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// Credentials of the connection count wherever they come from: the next request
// on it would have the identity too.
func TestInjectedConnectionAuthentication(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var from [2]string
	n := 0
	b.originTLS("bound.allowed.test", 443, &tls.Config{NextProtos: []string{"http/1.1"}}, func(_ http.ResponseWriter, r *http.Request) {
		from[n] = r.RemoteAddr
		n++
	})
	set := binding
	set.Mode, set.Format = inject.ModeSet, "Negotiate {value}"
	b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{set}}, defaultPolicy)
	b.start()
	c := b.client(false)
	b.get(c, "https://bound.allowed.test/")
	b.get(c, "https://bound.allowed.test/")
	if from[0] == from[1] {
		t.Error("a connection that a secret has authenticated is used again")
	}
}

// A method's case counts, but not to every server. Case: C11
func TestEchoingMethodsInAnyCase(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("www.allowed.test", func(http.ResponseWriter, *http.Request) { t.Error("it went out") })
	b.start()
	for _, method := range []string{"TRACE", "trace", "Trace", "track", "CONNECT", "cOnnect"} {
		k := b.inside("www.allowed.test")
		k.send(method + " / HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n")
		if resp, _ := k.response("GET"); resp.StatusCode < 400 {
			t.Errorf("%s: %d", method, resp.StatusCode)
		}
	}
}

// An origin that merges trailers into the headers must not find the client's
// value there beside the injected one.
func TestTrailerCantNameBoundHeader(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("bound.allowed.test", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = json.NewEncoder(w).Encode(r.Trailer)
	})
	key := binding
	key.Header, key.Mode = "X-Api_Key", inject.ModeSet
	b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{key}}, defaultPolicy)
	b.start()
	names := []string{"X-Api-Key", "X_api_key", "x-api_key", "Authorization", "Proxy_Authorization", "Content_type", "X-Sum"}
	request := "POST / HTTP/1.1\r\nHost: bound.allowed.test\r\nTransfer-Encoding: chunked\r\nTrailer: " + strings.Join(names, ", ") + "\r\n\r\n0\r\n"
	for _, name := range names {
		request += name + ": 7\r\n"
	}
	k := b.inside("bound.allowed.test")
	k.send(request + "\r\n")
	if _, body := k.response("POST"); strings.TrimSpace(body) != `{"X-Sum":["7"]}` {
		t.Errorf("origin saw trailers %s", body)
	}
}
