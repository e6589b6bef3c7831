// Package githubtest is a GitHub API in memory: the endpoints that a GitHub App
// needs to hand out installation tokens, with the shapes, redirects and errors
// of the real one. JWTs are verified by another library than the one that made
// them.
package githubtest

import (
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Repository is one that the installation has.
type Repository struct {
	ID    int64
	Owner string
	Name  string
	Was   []string // full names that redirect here
}

func (r Repository) fullName() string { return r.Owner + "/" + r.Name }

// Mint is the body of a request for a token.
type Mint struct {
	Repositories  []string          `json:"repositories"`
	RepositoryIDs []int64           `json:"repository_ids"`
	Permissions   map[string]string `json:"permissions"`
}

// Config of a Server. Set it before the first request.
type Config struct {
	Prefix       string // of the API's paths, "/api/v3" for an Enterprise Server
	AppID        string
	Key          *rsa.PublicKey
	Installation int64
	Permissions  map[string]string // that the installation has
	Repositories []Repository
	Now          func() time.Time // nil means time.Now
	TokenLife    time.Duration    // 0 means an hour
	// NewToken returns the nth token; nil makes short ones.
	NewToken func(n int) string
	// Intercept answers a request in place of the API, if it returns true.
	Intercept func(w http.ResponseWriter, r *http.Request) bool
	// Widen changes what a token is minted for, as a faulty API would.
	Widen func(*Token)
}

// Token is one that was minted.
type Token struct {
	Value        string
	Expires      time.Time
	Permissions  map[string]string
	Repositories []Repository
	Revoked      bool
}

// Server is the API. It is safe for concurrent use.
type Server struct {
	config Config
	mux    *http.ServeMux

	mu      sync.Mutex // guards what follows
	tokens  []*Token
	mints   []Mint
	lookups int
}

// New returns a Server for c.
func New(c Config) *Server {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.TokenLife == 0 {
		c.TokenLife = time.Hour
	}
	if c.NewToken == nil {
		c.NewToken = func(n int) string { return fmt.Sprintf("ghs_%036d", n) }
	}
	s := &Server{config: c, mux: http.NewServeMux()}
	s.mux.HandleFunc("GET "+c.Prefix+"/repos/{owner}/{repo}/installation", s.asApp(s.lookUp))
	s.mux.HandleFunc("GET "+c.Prefix+"/repositories/{id}/installation", s.asApp(s.lookUpByID))
	s.mux.HandleFunc("POST "+c.Prefix+"/app/installations/{id}/access_tokens", s.asApp(s.mint))
	s.mux.HandleFunc("DELETE "+c.Prefix+"/installation/token", s.revoke)
	s.mux.HandleFunc("GET /{owner}/{repo}/info/refs", s.gitRefs)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusNotFound, "Not Found") })
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", s.config.Now().UTC().Format(http.TimeFormat))
	if s.config.Intercept != nil && s.config.Intercept(w, r) {
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Mints returns every request for a token that was answered with one.
func (s *Server) Mints() []Mint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mints)
}

// Lookups returns how often an installation was looked up.
func (s *Server) Lookups() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lookups
}

// Alive returns the tokens that are still accepted.
func (s *Server) Alive() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var alive []string
	for _, t := range s.tokens {
		if !t.Revoked && s.config.Now().Before(t.Expires) {
			alive = append(alive, t.Value)
		}
	}
	return alive
}

// Expire ends every token, as their time would.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tokens {
		t.Revoked = true
	}
}

// Allows says how a token may use the repository's contents: "read", "write",
// or "" for not at all.
func (s *Server) Allows(token, fullName string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tokens {
		if t.Value != token || t.Revoked || !s.config.Now().Before(t.Expires) {
			continue
		}
		for _, r := range t.Repositories {
			if strings.EqualFold(r.fullName(), fullName) || slices.ContainsFunc(r.Was, func(was string) bool { return strings.EqualFold(was, fullName) }) {
				return t.Permissions["contents"]
			}
		}
	}
	return ""
}

// gitRefs stands for the git endpoint: it says whether a token is accepted.
func (s *Server) gitRefs(w http.ResponseWriter, r *http.Request) {
	_, token, _ := r.BasicAuth()
	if s.Allows(token, r.PathValue("owner")+"/"+strings.TrimSuffix(r.PathValue("repo"), ".git")) == "" {
		fail(w, http.StatusNotFound, "Not Found")
	}
}

func (s *Server) lookUp(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.lookups++
	s.mu.Unlock()
	asked := r.PathValue("owner") + "/" + r.PathValue("repo")
	for _, one := range s.config.Repositories {
		if strings.EqualFold(one.fullName(), asked) {
			s.installation(w, one)
			return
		}
		if slices.ContainsFunc(one.Was, func(was string) bool { return strings.EqualFold(was, asked) }) {
			w.Header().Set("Location", fmt.Sprintf("https://%s%s/repositories/%d/installation", r.Host, s.config.Prefix, one.ID))
			w.WriteHeader(http.StatusMovedPermanently)
			_ = json.NewEncoder(w).Encode(map[string]string{"message": "Moved Permanently"})
			return
		}
	}
	fail(w, http.StatusNotFound, "Not Found")
}

func (s *Server) lookUpByID(w http.ResponseWriter, r *http.Request) {
	for _, one := range s.config.Repositories {
		if strconv.FormatInt(one.ID, 10) == r.PathValue("id") {
			s.installation(w, one)
			return
		}
	}
	fail(w, http.StatusNotFound, "Not Found")
}

func (s *Server) installation(w http.ResponseWriter, of Repository) {
	reply(w, http.StatusOK, map[string]any{
		"id": s.config.Installation, "account": map[string]any{"login": of.Owner, "type": "Organization"},
		"app_id": 1, "target_type": "Organization", "repository_selection": "selected",
		"permissions": s.config.Permissions, "suspended_at": nil,
	})
}

func (s *Server) mint(w http.ResponseWriter, r *http.Request) {
	var m Mint
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil && r.ContentLength != 0 {
		fail(w, http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	if r.PathValue("id") != strconv.FormatInt(s.config.Installation, 10) {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	token := &Token{Expires: s.config.Now().Add(s.config.TokenLife).UTC().Truncate(time.Second), Permissions: m.Permissions}
	if token.Permissions == nil {
		token.Permissions = s.config.Permissions
	}
	for name, level := range token.Permissions {
		if has := s.config.Permissions[name]; has != level && has != "write" {
			fail(w, http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
			return
		}
	}
	everything := len(m.Repositories) == 0 && len(m.RepositoryIDs) == 0
	for _, one := range s.config.Repositories {
		if everything || slices.ContainsFunc(m.Repositories, func(n string) bool { return strings.EqualFold(n, one.Name) }) || slices.Contains(m.RepositoryIDs, one.ID) {
			token.Repositories = append(token.Repositories, one)
		}
	}
	if !everything && len(token.Repositories) != len(m.Repositories)+len(m.RepositoryIDs) {
		fail(w, http.StatusUnprocessableEntity, "There is at least one repository that does not exist or is not accessible to the parent installation.")
		return
	}
	if s.config.Widen != nil {
		s.config.Widen(token)
	}
	s.mu.Lock()
	token.Value = s.config.NewToken(len(s.tokens) + 1)
	s.tokens = append(s.tokens, token)
	s.mints = append(s.mints, m)
	s.mu.Unlock()
	body := map[string]any{
		"token": token.Value, "expires_at": token.Expires.Format(time.RFC3339),
		"permissions": token.Permissions, "repository_selection": "all",
	}
	if !everything {
		var list []map[string]any
		for _, one := range token.Repositories {
			list = append(list, map[string]any{"id": one.ID, "name": one.Name, "full_name": one.fullName(), "private": true})
		}
		body["repository_selection"], body["repositories"] = "selected", list
	}
	reply(w, http.StatusCreated, body)
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	value, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tokens {
		if t.Value == value && !t.Revoked {
			t.Revoked = true
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	fail(w, http.StatusUnauthorized, "Bad credentials")
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]string{"message": message, "documentation_url": "https://docs.github.com/rest"})
}
