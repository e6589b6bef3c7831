package github_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/broker/github"
	"github.com/sallyport/sallyport/inject/secret"
)

// Ledger: GB-10. Case: D21, D24.
func TestErrorsOfTheAPI(t *testing.T) {
	t.Parallel()
	reset := fmt.Sprint(time.Now().Add(30 * time.Minute).Unix())
	cases := []struct {
		name   string
		status int
		header map[string]string
		doc    string
		want   error
		after  time.Duration // of a rate limit, at least
		text   string
	}{
		{"key of another app", 401, nil, "", broker.ErrMisconfigured, 0, "app_id"},
		{"forbidden", 403, nil, "", broker.ErrRefused, 0, "the App may not"},
		{"missing", 404, nil, "", broker.ErrRefused, 0, "isn't installed"},
		{"permission that isn't there", 422, nil, "", broker.ErrRefused, 0, "permissions contents:read,metadata:read"},
		{"too many", 429, map[string]string{"Retry-After": "120"}, "", nil, 119 * time.Second, "120"},
		{"primary limit", 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Limit": "5000", "X-RateLimit-Reset": reset}, "", nil, 29 * time.Minute, ""},
		{"secondary limit", 403, map[string]string{"Retry-After": "60"}, "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits", nil, 59 * time.Second, ""},
		{"secondary limit without a wait", 403, nil, "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits", nil, time.Minute, ""},
		{"fault", 500, nil, "", broker.ErrUnavailable, 0, ""},
		{"gateway", 502, nil, "", broker.ErrUnavailable, 0, ""},
		{"time-out", 504, nil, "", broker.ErrUnavailable, 0, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			conf := config()
			conf.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost {
					return false
				}
				calls.Add(1)
				for name, value := range c.header {
					w.Header().Set(name, value)
				}
				w.WriteHeader(c.status)
				fmt.Fprintf(w, `{"message":"said by the API","documentation_url":%q}`, c.doc)
				return true
			}
			issuer, _ := start(t, conf, nil)
			_, err := issuer.Issue(t.Context(), request(t, "octo/app", broker.Read))
			var limited *broker.RateLimitError
			switch {
			case err == nil:
				t.Fatal("no error")
			case c.want != nil && !errors.Is(err, c.want):
				t.Errorf("error %v, want %v", err, c.want)
			case c.want == nil && (!errors.As(err, &limited) || limited.After < c.after):
				t.Errorf("error %v, want a rate limit of %v", err, c.after)
			case !strings.Contains(err.Error(), c.text) && c.want != nil:
				t.Errorf("error %q doesn't say %q", err, c.text)
			}
			if strings.Contains(err.Error(), "Bearer") || strings.Contains(err.Error(), "eyJ") {
				t.Errorf("error holds the JWT: %v", err)
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

// Case: D26.
func TestAppThatGitHubDoesNotKnow(t *testing.T) {
	t.Parallel()
	issuer, api := start(t, config(), func(o *github.Options) { o.AppID = "999" })
	_, err := issuer.Issue(t.Context(), request(t, "octo/app", broker.Read))
	if !errors.Is(err, broker.ErrMisconfigured) || !strings.Contains(err.Error(), "app_id") || strings.Contains(err.Error(), "clock") {
		t.Errorf("error %v", err)
	}
	if len(api.Mints()) > 0 {
		t.Error("a token was minted")
	}
}

func TestKeyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for source, want := range map[error]error{
		secret.ErrNotFound:    broker.ErrMisconfigured,
		secret.ErrUnavailable: broker.ErrUnavailable,
	} {
		issuer, _ := start(t, config(), func(o *github.Options) {
			o.Key = func(context.Context) (secret.Secret, error) { return secret.Secret{}, source }
		})
		if _, err := issuer.Issue(t.Context(), request(t, "octo/app", broker.Read)); !errors.Is(err, want) {
			t.Errorf("%v: error %v, want %v", source, err, want)
		}
	}
}

// A redirect to another host gets neither the JWT nor a token.
func TestRedirectToAnotherHost(t *testing.T) {
	t.Parallel()
	conf := config()
	var leaked atomic.Bool
	conf.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Host != "example.com" {
			leaked.Store(true)
		}
		http.Redirect(w, r, "https://evil.example.com"+r.URL.Path, http.StatusTemporaryRedirect)
		return true
	}
	issuer, _ := start(t, conf, nil)
	if _, err := issuer.Issue(t.Context(), request(t, "octo/app", broker.Read)); !errors.Is(err, broker.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	if leaked.Load() {
		t.Error("the other host was asked")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]github.Options{
		"no app":          {},
		"cleartext API":   {AppID: "1", APIURL: "http://api.example.com/"},
		"user in the URL": {AppID: "1", APIURL: "https://u:p@api.example.com/"},
		"hyphenated":      {AppID: "1", Extra: []string{"pull-requests"}},
		"administrator":   {AppID: "1", Extra: []string{"administration"}},
		"something else":  {AppID: "a b"},
	} {
		if _, err := github.New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
