package gitea_test

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
	"github.com/sallyport/sallyport/broker/gitea"
	"github.com/sallyport/sallyport/broker/issuertest"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

const (
	account  = "bot"
	password = "the-accounts-own"
)

type token struct {
	ID     int64    `json:"id"`
	Name   string   `json:"name"`
	Token  string   `json:"sha1,omitempty"`
	Scopes []string `json:"scopes"`
}

// server is the forge's API, as far as the issuer needs it.
type server struct {
	repositories map[string]bool // that the account has; true: may be pushed to
	widen        func(*token)
	status       int // answered in place of everything

	mu     sync.Mutex
	made   int64
	tokens map[int64]token
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, given, _ := r.BasicAuth()
	rest := strings.TrimPrefix(r.URL.Path, "/api/v1/")
	part := strings.Split(rest, "/")
	switch {
	case s.status != 0:
		w.Header().Set("Retry-After", "7")
		s.reply(w, s.status, map[string]string{"message": "no"})
	case user != account || given != password:
		s.reply(w, http.StatusUnauthorized, map[string]string{"message": "user does not exist"})
	case len(part) == 3 && part[0] == "repos" && r.Method == http.MethodGet:
		s.repository(w, part[1]+"/"+part[2])
	case rest == "users/"+account+"/tokens" && r.Method == http.MethodPost:
		s.make(w, r)
	case strings.HasPrefix(rest, "users/"+account+"/tokens/") && r.Method == http.MethodDelete:
		s.revoke(w, part[3])
	default:
		s.reply(w, http.StatusNotFound, map[string]string{"message": "not found"})
	}
}

func (s *server) repository(w http.ResponseWriter, asked string) {
	for name, push := range s.repositories {
		if strings.EqualFold(name, asked) {
			s.reply(w, http.StatusOK, map[string]any{"id": 1, "full_name": name, "permissions": map[string]bool{"pull": true, "push": push}})
			return
		}
	}
	s.reply(w, http.StatusNotFound, map[string]string{"message": "The target couldn't be found."})
}

func (s *server) make(w http.ResponseWriter, r *http.Request) {
	var t token
	if err := json.NewDecoder(r.Body).Decode(&t); err != nil || t.Name == "" || len(t.Scopes) == 0 {
		s.reply(w, http.StatusBadRequest, map[string]string{"message": "access token must have a scope"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	t.ID, t.Token = s.made, fmt.Sprintf("%040x", s.made)
	if s.widen != nil {
		s.widen(&t)
	}
	s.tokens[t.ID] = t
	s.reply(w, http.StatusCreated, t)
}

func (s *server) revoke(w http.ResponseWriter, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := strconv.ParseInt(id, 10, 64)
	if _, ok := s.tokens[n]; !ok {
		s.reply(w, http.StatusNotFound, map[string]string{"message": "not found"})
		return
	}
	delete(s.tokens, n)
	w.WriteHeader(http.StatusNoContent)
}

func (s *server) reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (s *server) allows(c broker.Credential, repository string) broker.Access {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tokens {
		if t.Token != string(c.Password.Reveal()) {
			continue
		}
		push, there := s.repositories[repository]
		switch {
		case there && push && slices.Contains(t.Scopes, "write:repository"):
			return broker.Write
		case there:
			return broker.Read
		}
	}
	return ""
}

func start(t *testing.T, s *server) *gitea.Issuer {
	t.Helper()
	s.tokens = map[int64]token{}
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
	issuer, err := gitea.New(gitea.Options{Host: host, Username: account, Transport: transport,
		Password: func(context.Context) (secret.Secret, error) {
			return secret.Secret{Value: secret.NewValue([]byte(password))}, nil
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
		s := &server{repositories: map[string]bool{"octo/app": true, "octo/other": true}}
		return issuertest.Fixture{Issuer: start(t, s), Granted: "octo/app", Other: "octo/other", Missing: "octo/missing", Allows: s.allows}
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

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		repositories map[string]bool
		ask          string
		access       broker.Access
	}{
		"not to be pushed to": {map[string]bool{"octo/app": false}, "octo/app", broker.Write},
		"groups":              {map[string]bool{"octo/app": true}, "octo/sub/app", broker.Read},
	} {
		s := &server{repositories: c.repositories}
		if _, err := start(t, s).Issue(t.Context(), request(t, c.ask, c.access)); !errors.Is(err, broker.ErrRefused) || s.made != 0 {
			t.Errorf("%s: %v, %d tokens", name, err, s.made)
		}
	}
	s := &server{repositories: map[string]bool{"octo/app": true}, widen: func(t *token) { t.Scopes = []string{"all"} }}
	if _, err := start(t, s).Issue(t.Context(), request(t, "octo/app", broker.Read)); !errors.Is(err, broker.ErrMisconfigured) || len(s.tokens) != 0 {
		t.Errorf("a token to everything: %v, %d alive", err, len(s.tokens))
	}
}

// Case: D24.
func TestErrors(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]error{401: broker.ErrMisconfigured, 403: broker.ErrRefused, 301: broker.ErrRefused, 502: broker.ErrUnavailable} {
		_, err := start(t, &server{status: status}).Issue(t.Context(), request(t, "octo/app", broker.Read))
		if !errors.Is(err, want) || strings.Contains(err.Error(), password) {
			t.Errorf("%d: %v", status, err)
		}
	}
	var limited *broker.RateLimitError
	if _, err := start(t, &server{status: 429}).Issue(t.Context(), request(t, "octo/app", broker.Read)); !errors.As(err, &limited) || limited.After != 7*time.Second {
		t.Errorf("429: %v", err)
	}
}
