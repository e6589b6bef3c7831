// Package vaulttest is a server that speaks the part of Vault's API that a
// secret source needs, for tests: key/value engines of both versions, an
// engine that issues leased credentials, tokens with time limits, policies,
// response wrapping, four ways to log in, namespaces, sealing and audit.
//
// It is set up as a real Vault is, by the official client with
// [Server.Client]; only what Vault itself wouldn't do on request is a method.
package vaulttest

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"
)

// Server is a Vault in this process, over TLS.
type Server struct {
	URL       string
	RootToken string
	CAFile    string // vouches for URL

	http *httptest.Server

	mu        sync.Mutex // guards what follows
	sealed    bool
	namespace string // that requests must name
	faults    []http.HandlerFunc
	tokens    map[string]*token
	policies  map[string]string
	mounts    map[string]*mount
	leases    map[string]*lease
	roles     map[string]map[string]any // by full path
	secretIDs map[string]string         // role by secret id
	wraps     map[string]*wrapped
	audit     []Entry
}

// Entry is a line of the audit log.
type Entry struct {
	Method, Path string
	DisplayName  string
	Metadata     map[string]string
	Boundary     string // the header X-Sallyport-Boundary
	Status       int
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		RootToken: "hvs." + random(),
		tokens:    map[string]*token{}, policies: map[string]string{}, mounts: map[string]*mount{},
		leases: map[string]*lease{}, roles: map[string]map[string]any{},
		secretIDs: map[string]string{}, wraps: map[string]*wrapped{},
	}
	s.tokens[s.RootToken] = &token{policies: []string{"root"}, displayName: "root"}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.http.TLS = &tls.Config{ClientAuth: tls.RequestClientCert} //nolint:gosec // the test server's defaults
	s.http.StartTLS()
	t.Cleanup(s.http.Close)
	s.URL = s.http.URL
	s.CAFile = filepath.Join(t.TempDir(), "ca.pem")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
	if err := os.WriteFile(s.CAFile, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// Client returns an official client with the root token.
func (s *Server) Client(t testing.TB) *api.Client {
	t.Helper()
	return NewClient(t, s.URL, s.CAFile, s.RootToken)
}

// NewClient returns an official client for any server; caFile may be empty.
func NewClient(t testing.TB, address, caFile, token string) *api.Client {
	t.Helper()
	config := api.DefaultConfig()
	config.Address = address
	if err := config.ConfigureTLS(&api.TLSConfig{CACert: caFile}); err != nil {
		t.Fatal(err)
	}
	client, err := api.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	client.SetToken(token)
	return client
}

// Seal seals or unseals the server.
func (s *Server) Seal(sealed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = sealed
}

// RequireNamespace makes the server refuse requests that don't name it.
func (s *Server) RequireNamespace(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.namespace = namespace
}

// Fail answers the next n requests with answer.
func (s *Server) Fail(n int, answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.faults = append(s.faults, answer)
	}
}

// Recover drops what Fail has left.
func (s *Server) Recover() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Audit returns the log so far.
func (s *Server) Audit() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Entry(nil), s.audit...)
}

// Count returns how many requests there were to paths that start with prefix.
func (s *Server) Count(prefix string) int {
	n := 0
	for _, e := range s.Audit() {
		if strings.HasPrefix(e.Path, prefix) {
			n++
		}
	}
	return n
}

// Leases returns how many leases are in force.
func (s *Server) Leases() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for id := range s.leases {
		if s.lease(id) != nil {
			n++
		}
	}
	return n
}

// RevokeTokens revokes every token but the root's and with them their leases,
// as an operator would.
func (s *Server) RevokeTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.tokens {
		if id != s.RootToken {
			s.revokeToken(id)
		}
	}
}

// RevokeLeases revokes every lease.
func (s *Server) RevokeLeases() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.leases)
}

// serve answers one request, as the HTTP layer of Vault does: faults and the
// seal first, then the namespace, the token and its policies.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if len(s.faults) > 0 {
		fault := s.faults[0]
		s.faults = s.faults[1:]
		s.mu.Unlock()
		fault(w, r)
		return
	}
	defer s.mu.Unlock()
	q := &request{Request: r, path: strings.TrimPrefix(r.URL.Path, "/v1/"), body: map[string]any{}}
	entry := Entry{Method: r.Method, Path: q.path, Boundary: r.Header.Get("X-Sallyport-Boundary")}
	a := s.answer(q)
	if q.token != nil {
		entry.DisplayName, entry.Metadata = q.token.displayName, q.token.metadata
	}
	entry.Status = a.status
	s.audit = append(s.audit, entry)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	if a.body != nil {
		_ = json.NewEncoder(w).Encode(a.body) // the client may have gone
	}
}

func (s *Server) answer(q *request) answer {
	if s.sealed {
		return refuse(http.StatusServiceUnavailable, "Vault is sealed")
	}
	if q.Header.Get(api.RequestHeaderName) != "true" {
		return refuse(http.StatusPreconditionFailed, "missing request header")
	}
	if q.Header.Get(api.NamespaceHeaderName) != s.namespace {
		return refuse(http.StatusNotFound, "no handler for route")
	}
	if q.ContentLength != 0 {
		if err := json.NewDecoder(q.Body).Decode(&q.body); err != nil {
			return refuse(http.StatusBadRequest, "error parsing JSON")
		}
	}
	if strings.HasPrefix(q.path, "auth/") && strings.HasSuffix(q.path, "/login") {
		return s.login(q)
	}
	if strings.HasPrefix(q.path, "sys/wrapping/") {
		return s.wrapping(q)
	}
	q.id = q.Header.Get(api.AuthHeaderName)
	if q.token = s.lookup(q.id); q.token == nil || !s.allows(q.token, q.path) {
		return refuse(http.StatusForbidden, "permission denied")
	}
	a := s.route(q)
	if ttl := q.Header.Get("X-Vault-Wrap-TTL"); ttl != "" && a.status == http.StatusOK {
		return s.wrap(q, a)
	}
	return a
}

func (s *Server) route(q *request) answer {
	switch {
	case strings.HasPrefix(q.path, "sys/"):
		return s.system(q)
	case strings.HasPrefix(q.path, "auth/token/"):
		return s.tokenRequest(q)
	case strings.HasPrefix(q.path, "auth/"):
		return s.role(q)
	default:
		return s.secrets(q)
	}
}

// request is one request with what has been found out about it.
type request struct {
	*http.Request
	path  string
	body  map[string]any
	id    string // of the token
	token *token
}

func (q *request) text(key string) string {
	v, _ := q.body[key].(string)
	return v
}

func (q *request) duration(key string) time.Duration {
	switch v := q.body[key].(type) {
	case float64:
		return time.Duration(v) * time.Second
	case string:
		d, _ := time.ParseDuration(v)
		return d
	}
	return 0
}

// answer is a status and a JSON body, or none.
type answer struct {
	status int
	body   map[string]any
}

func refuse(status int, msg string) answer {
	return answer{status, map[string]any{"errors": []string{msg}}}
}

func data(values map[string]any) answer {
	return answer{http.StatusOK, map[string]any{"request_id": random(), "data": values}}
}

var done = answer{status: http.StatusNoContent}

func random() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b) // never fails, crypto/rand
	return hex.EncodeToString(b)
}
