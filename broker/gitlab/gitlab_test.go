package gitlab_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/broker/gitlab"
	"github.com/sallyport/sallyport/broker/issuertest"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

const master = "glpat-the-issuers-own"

// token is one of a project, as GitLab keeps it.
type token struct {
	ID          int64    `json:"id"`
	Name        string   `json:"name"`
	Token       string   `json:"token,omitempty"`
	Scopes      []string `json:"scopes"`
	AccessLevel int      `json:"access_level"`
	ExpiresAt   string   `json:"expires_at"`
	Active      bool     `json:"active"`
	project     string
}

// server is GitLab's API, as far as the issuer needs it.
type server struct {
	projects []string // full paths; the index is the id
	widen    func(*token)
	status   int // answered in place of everything

	mu     sync.Mutex
	tokens map[int64]*token
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.status != 0 {
		w.Header().Set("Retry-After", "7")
		s.fail(w, s.status, "no")
		return
	}
	if r.Header.Get("Private-Token") != master {
		s.fail(w, http.StatusUnauthorized, "401 Unauthorized")
		return
	}
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/v4/projects/")
	if !ok {
		s.fail(w, http.StatusNotFound, "404 Not Found")
		return
	}
	part := strings.Split(rest, "/")
	id := slices.IndexFunc(s.projects, func(p string) bool {
		return strings.EqualFold(strings.NewReplacer("/", "%2F", ".", "%2E").Replace(p), part[0])
	})
	if n, err := strconv.Atoi(part[0]); err == nil && n < len(s.projects) {
		id = n
	}
	switch {
	case id < 0:
		s.fail(w, http.StatusNotFound, "404 Project Not Found")
	case len(part) == 1 && r.Method == http.MethodGet:
		s.reply(w, http.StatusOK, map[string]any{"id": id, "path_with_namespace": s.projects[id]})
	case len(part) == 2 && part[1] == "access_tokens" && r.Method == http.MethodPost:
		s.make(w, r, s.projects[id])
	case len(part) == 3 && part[1] == "access_tokens" && r.Method == http.MethodDelete:
		s.revoke(w, part[2])
	default:
		s.fail(w, http.StatusNotFound, "404 Not Found")
	}
}

func (s *server) make(w http.ResponseWriter, r *http.Request, project string) {
	var t token
	if err := json.NewDecoder(r.Body).Decode(&t); err != nil || t.Name == "" || len(t.Scopes) == 0 {
		s.fail(w, http.StatusBadRequest, "scopes is missing")
		return
	}
	day, err := time.Parse(time.DateOnly, t.ExpiresAt)
	if err != nil || !day.After(time.Now()) {
		s.fail(w, http.StatusBadRequest, "expires_at must be in the future")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.ID, t.Active, t.project = int64(len(s.tokens)+1), true, project
	t.Token = fmt.Sprintf("glpat-%020d", t.ID)
	if s.widen != nil {
		s.widen(&t)
	}
	s.tokens[t.ID] = &t
	s.reply(w, http.StatusCreated, t)
}

func (s *server) revoke(w http.ResponseWriter, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := strconv.ParseInt(id, 10, 64)
	t := s.tokens[n]
	if t == nil || !t.Active {
		s.fail(w, http.StatusNotFound, "404 Not Found")
		return
	}
	t.Active = false
	w.WriteHeader(http.StatusNoContent)
}

func (s *server) reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (s *server) fail(w http.ResponseWriter, status int, message string) {
	s.reply(w, status, map[string]string{"message": message})
}

// allows is what GitLab would let git do with a token.
func (s *server) allows(c broker.Credential, repository string) broker.Access {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tokens {
		switch {
		case t.Token != string(c.Password.Reveal()) || !t.Active || !strings.EqualFold(t.project, repository):
		case slices.Contains(t.Scopes, "write_repository") && t.AccessLevel >= 30:
			return broker.Write
		case slices.Contains(t.Scopes, "read_repository"):
			return broker.Read
		}
	}
	return ""
}

func (s *server) alive() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, t := range s.tokens {
		if t.Active {
			n++
		}
	}
	return n
}

func start(t *testing.T, s *server, withAPI bool) *gitlab.Issuer {
	t.Helper()
	s.tokens = map[int64]*token{}
	s.projects = append([]string{"none"}, s.projects...)
	web := httptest.NewTLSServer(s)
	t.Cleanup(web.Close)
	transport := web.Client().Transport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", web.Listener.Addr().String())
	}
	t.Cleanup(transport.CloseIdleConnections)
	host, err := policy.CanonicalHost("example.com")
	if err != nil {
		t.Fatal(err)
	}
	issuer, err := gitlab.New(gitlab.Options{Host: host, Transport: transport, WithAPI: withAPI,
		Token: func(context.Context) (secret.Secret, error) {
			return secret.Secret{Value: secret.NewValue([]byte(master))}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return issuer
}

// Ledger: GB-6, GB-11.
func TestConformance(t *testing.T) {
	t.Parallel()
	issuertest.Run(t, func(t *testing.T) issuertest.Fixture {
		s := &server{projects: []string{"Group/Sub/App", "group/sub/other.js"}}
		return issuertest.Fixture{
			Issuer: start(t, s, false), Granted: "group/sub/app", Other: "group/sub/other.js", Missing: "group/app", Allows: s.allows,
		}
	})
}

func request(t *testing.T, name string, access broker.Access) broker.Request {
	t.Helper()
	r, err := broker.CanonicalRepository(name)
	if err != nil {
		t.Fatal(err)
	}
	return broker.Request{Repository: r, Access: access}
}

// A token that is worth more or less than was asked for is nobody's.
func TestScopeIsVerified(t *testing.T) {
	t.Parallel()
	for name, widen := range map[string]func(*token){
		"scopes": func(t *token) { t.Scopes = append(t.Scopes, "api") },
		"level":  func(t *token) { t.AccessLevel = 50 },
		"none":   func(t *token) { t.Token = "" },
	} {
		s := &server{projects: []string{"group/app"}, widen: widen}
		got, err := start(t, s, false).Issue(t.Context(), request(t, "group/app", broker.Read))
		if !errors.Is(err, broker.ErrMisconfigured) || !got.Password.IsEmpty() || s.alive() != 0 {
			t.Errorf("%s: %v, %d alive", name, err, s.alive())
		}
	}
}

func TestScopesOfTheAPI(t *testing.T) {
	t.Parallel()
	s := &server{projects: []string{"group/app"}}
	if _, err := start(t, s, true).Issue(t.Context(), request(t, "group/app", broker.Write)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.tokens[1].Scopes, " "); got != "api read_repository write_repository" {
		t.Errorf("scopes %s", got)
	}
}

// Case: D24.
func TestErrors(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]error{401: broker.ErrMisconfigured, 403: broker.ErrRefused, 404: broker.ErrRefused, 301: broker.ErrRefused, 400: broker.ErrRefused, 502: broker.ErrUnavailable} {
		_, err := start(t, &server{status: status}, false).Issue(t.Context(), request(t, "group/app", broker.Read))
		if !errors.Is(err, want) || strings.Contains(err.Error(), master) {
			t.Errorf("%d: %v", status, err)
		}
	}
	var limited *broker.RateLimitError
	_, err := start(t, &server{status: 429}, false).Issue(t.Context(), request(t, "group/app", broker.Read))
	if !errors.As(err, &limited) || limited.After != 7*time.Second {
		t.Errorf("429: %v", err)
	}
}

func TestAPIURL(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"http://a.example.com/api/v4", "https://a.example.com/", "https://u@a.example.com/api/v4", "://"} {
		if _, err := gitlab.New(gitlab.Options{APIURL: bad}); err == nil {
			t.Errorf("%s accepted", bad)
		}
	}
	issuer, err := gitlab.New(gitlab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if api := issuer.API(); api.Host.String() != "gitlab.com" || api.Prefix != "/api/v4" {
		t.Errorf("API %+v", api)
	}
}
