package edge_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
)

// tokens is a token endpoint, and the API that takes its tokens. Refresh tokens
// are good for one use; a second revokes everything (RFC 9700 §4.14.2).
type tokens struct {
	t *testing.T

	mu      sync.Mutex // guards what follows
	refresh string
	valid   string // access token
	asked   int
	revoked bool
	down    bool
	life    int
	form    url.Values
	grants  func(url.Values, *http.Request) bool
	self    http.HandlerFunc // of another host; nil: there is none
}

func (s *tokens) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if err := r.ParseForm(); err != nil {
		s.t.Error(err)
	}
	s.form = r.PostForm
	user, password, _ := r.BasicAuth()
	ok := s.grants != nil && s.grants(r.PostForm, r)
	if s.grants == nil {
		ok = user == "client" && password == secret1 && r.PostForm.Get("grant_type") == "client_credentials"
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case s.down:
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "down, and quoting "+password+r.PostForm.Get("refresh_token"))
	case !ok || s.revoked:
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":"invalid_grant","error_description":"`+r.PostForm.Get("refresh_token")+`"}`)
	default:
		s.valid = fmt.Sprintf("access-token-%d-of-the-sandbox", s.asked)
		answer := map[string]any{"access_token": s.valid, "token_type": "Bearer", "expires_in": s.life}
		if s.refresh != "" {
			answer["refresh_token"] = s.refresh
		}
		json.NewEncoder(w).Encode(answer)
	}
}

func (s *tokens) api(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+s.valid {
		w.WriteHeader(http.StatusUnauthorized)
	}
	io.WriteString(w, "you sent "+r.Header.Get("Authorization"))
}

// tokenBed is a bed with both hosts and one binding.
func tokenBed(t *testing.T, s *tokens, binding inject.Binding) (*bed, string) {
	t.Helper()
	b := kindBed(t)
	s.t = t
	if s.life == 0 {
		s.life = 3600
	}
	b.origin("auth.allowed.test", s.token)
	b.origin("bound.allowed.test", s.api)
	if s.self != nil {
		b.origin("self.allowed.test", s.self)
	}
	binding.Env, binding.Host = "API_TOKEN", "bound.allowed.test"
	env := b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{binding}}, defaultPolicy)
	return b.start(), env["API_TOKEN"]
}

func (b *bed) send(c *http.Client, method, to, authorization string) (int, string) {
	b.Helper()
	req, err := http.NewRequest(method, to, nil)
	b.must(err)
	req.Header.Set("Authorization", authorization)
	resp, err := c.Do(req)
	b.must(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	b.must(err)
	return resp.StatusCode, string(body)
}

var clientCredentials = inject.Binding{
	Kind: inject.KindClientCredentials, Secret: "mem:token",
	OAuth2: &inject.OAuth2{
		TokenURL: "https://auth.allowed.test/token", ClientID: "client",
		Scopes: []string{"read", "write"}, Params: map[string]string{"audience": "api"},
	},
}

// The edge owns the exchange: the sandbox sees neither the client secret nor
// the access token, and its placeholder opens nothing at the endpoint. A token
// that the API refuses is replaced once, and the request repeated only if that
// is harmless. Case: C18, C21. Ledger: SI-1, SI-2, SI-11
func TestClientCredentials(t *testing.T) {
	t.Parallel()
	s := &tokens{}
	b, placeholder := tokenBed(t, s, clientCredentials)
	c := b.client(false)
	for range 3 {
		if status, body := b.send(c, "GET", "https://bound.allowed.test/", "Bearer "+placeholder); status != 200 || body != "you sent Bearer "+placeholder {
			t.Errorf("%d %s", status, body)
		}
	}
	if s.asked != 1 || s.form.Get("scope") != "read write" || s.form.Get("audience") != "api" {
		t.Errorf("asked %d times, for %v", s.asked, s.form)
	}
	if status, body := b.send(c, "POST", "https://auth.allowed.test/token", "Bearer "+placeholder); status != 403 || s.asked != 1 {
		t.Errorf("the sandbox asked by itself: %d %s", status, body)
	}
	s.mu.Lock()
	s.valid = "revoked"
	s.mu.Unlock()
	if status, _ := b.send(c, "POST", "https://bound.allowed.test/", "Bearer "+placeholder); status != 401 || s.asked != 2 {
		t.Errorf("a POST with a token that has been revoked: %d, asked %d times", status, s.asked)
	}
	if status, _ := b.send(c, "GET", "https://bound.allowed.test/", "Bearer "+placeholder); status != 200 || s.asked != 2 {
		t.Errorf("the request after it: %d, asked %d times", status, s.asked)
	}
}

func TestRevokedTokenIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	s := &tokens{}
	b, placeholder := tokenBed(t, s, clientCredentials)
	c := b.client(true)
	if status, _ := b.send(c, "GET", "https://bound.allowed.test/", "Bearer "+placeholder); status != 200 {
		t.Fatal(status)
	}
	s.mu.Lock()
	s.valid = "revoked"
	s.mu.Unlock()
	if status, body := b.send(c, "GET", "https://bound.allowed.test/", "Bearer "+placeholder); status != 200 || s.asked != 2 {
		t.Errorf("%d %s, asked %d times", status, body, s.asked)
	}
	s.mu.Lock()
	s.valid = "nothing is valid"
	s.mu.Unlock()
	for range 20 {
		if status, _ := b.send(c, "GET", "https://bound.allowed.test/", "Bearer "+placeholder); status != 401 {
			t.Fatal(status)
		}
	}
	if s.asked != 2 {
		t.Errorf("an API that refuses everything made us ask %d times", s.asked)
	}
}

// Case: C18. Ledger: SI-11
func TestEndpointThatFails(t *testing.T) {
	t.Parallel()
	s := &tokens{down: true}
	b, placeholder := tokenBed(t, s, clientCredentials)
	c := b.client(false)
	if status, _ := b.send(c, "GET", "https://bound.allowed.test/", "Bearer "+placeholder); status != 503 {
		t.Errorf("status %d", status)
	}
	for _, r := range b.recorded(1) {
		if strings.Contains(r.Detail, secret1) || r.Reason != "secret_unavailable" {
			t.Errorf("record %+v", r)
		}
	}
	s.mu.Lock()
	s.down = false
	s.mu.Unlock()
	for s := 0; s != 200; { // the failure is remembered for a moment, no restart is needed
		s, _ = b.send(c, "GET", "https://bound.allowed.test/", "Bearer "+placeholder)
	}
}

func refreshBinding() inject.Binding {
	return inject.Binding{
		Kind: inject.KindRefreshToken, Secret: "mem:refresh",
		OAuth2: &inject.OAuth2{TokenURL: "https://auth.allowed.test/token", ClientID: "public"},
	}
}

// Fifty requests at once, as a token has just expired, spend the refresh token
// once, and what replaces it is kept. Case: C20, C21
func TestRefreshTokenIsSpentOnce(t *testing.T) {
	t.Parallel()
	s := &tokens{life: 1}
	spent := map[string]bool{}
	s.grants = func(form url.Values, r *http.Request) bool {
		used := form.Get("refresh_token")
		if _, _, basic := r.BasicAuth(); basic || form.Get("client_id") != "public" || form.Get("grant_type") != "refresh_token" {
			return false
		}
		if spent[used] {
			s.revoked = true
		}
		spent[used] = true
		s.refresh = fmt.Sprintf("refresh-token-%d-of-the-owner", s.asked+1)
		return used == fmt.Sprintf("refresh-token-%d-of-the-owner", s.asked)
	}
	b, placeholder := tokenBed(t, s, refreshBinding())
	b.must(b.secrets.Set("refresh", []byte("refresh-token-1-of-the-owner")))
	var wg sync.WaitGroup
	var good atomic.Int32
	for range 50 {
		wg.Go(func() {
			if status, _ := b.send(b.client(false), "POST", "https://bound.allowed.test/", "Bearer "+placeholder); status == 200 {
				good.Add(1)
			}
		})
	}
	wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revoked || s.asked > 20 {
		t.Errorf("revoked %v, asked %d times", s.revoked, s.asked)
	}
	kept, err := b.secrets.Read(t.Context(), "refresh")
	b.must(err)
	if got := string(kept.Value.Reveal()); got != s.refresh {
		t.Errorf("%q is kept, the newest is %q", got, s.refresh)
	}
	if good.Load() == 0 {
		t.Error("no request went through")
	}
}

// The key of a service account goes nowhere: an assertion does, verified here
// by another library, or a JWT to the service itself. Ledger: SI-1
func TestServiceAccount(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "robot@project.example.com", "private_key_id": "k1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
		"token_uri":   "https://attacker.example.com/token",
	})
	if err != nil {
		t.Fatal(err)
	}
	verify := func(compact string) map[string]any {
		signed, err := jwt.ParseSigned(compact, []jose.SignatureAlgorithm{jose.RS256})
		if err != nil {
			t.Error(err)
			return nil
		}
		claims := map[string]any{}
		if err := signed.Claims(key.Public(), &claims); err != nil || signed.Headers[0].KeyID != "k1" {
			t.Errorf("assertion by %q: %v", signed.Headers[0].KeyID, err)
		}
		return claims
	}
	var seen atomic.Pointer[map[string]any]
	s := &tokens{self: func(_ http.ResponseWriter, r *http.Request) {
		claims := verify(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		seen.Store(&claims)
	}}
	s.grants = func(form url.Values, _ *http.Request) bool {
		claims := verify(form.Get("assertion"))
		return form.Get("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer" && claims["iss"] == "robot@project.example.com" &&
			claims["sub"] == "user@example.com" && claims["scope"] == "a b" && claims["aud"] == "https://auth.allowed.test/token"
	}
	b, placeholder := tokenBed(t, s, inject.Binding{
		Kind: inject.KindServiceAccount, Secret: "mem:account",
		Google: &inject.ServiceAccount{Scopes: []string{"a", "b"}, Subject: "user@example.com", TokenURL: "https://auth.allowed.test/token"},
	})
	b.must(b.secrets.Set("account", file))
	if status, body := b.send(b.client(false), "GET", "https://bound.allowed.test/", "Bearer "+placeholder); status != 200 || body != "you sent Bearer "+placeholder {
		t.Errorf("%d %s", status, body)
	}
	// What is inside the key is known too: it doesn't leave by itself.
	line := strings.ReplaceAll(string(file[strings.Index(string(file), "MII"):][:300]), `\n`, "\n")
	if status, _ := b.send(b.client(false), "GET", "https://bound.allowed.test/?k="+url.QueryEscape("-----BEGIN PRIVATE KEY-----\n"+line), "Bearer "+placeholder); status != 403 {
		t.Errorf("the private key left: %d", status)
	}
	env := b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{{
		Kind: inject.KindServiceAccount, Env: "API_TOKEN", Host: "self.allowed.test", Secret: "mem:account", Mode: inject.ModeSet, Format: "Bearer {value}",
		Google: &inject.ServiceAccount{Audience: "https://self.allowed.test/"},
	}}}, defaultPolicy)
	b.get(b.client(false), "https://self.allowed.test/")
	if claims := seen.Load(); claims == nil || (*claims)["aud"] != "https://self.allowed.test/" || env["API_TOKEN"] == "" {
		t.Errorf("the service saw %v", claims)
	}
}
