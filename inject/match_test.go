package inject_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/inject"
)

// Ledger: SI-17
func TestMatchersLimitABinding(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		match   inject.Match
		method  string
		target  string
		headers []string
		applies bool
	}{
		{"none", inject.Match{}, "PUT", "/any", nil, true},
		{"method", inject.Match{Methods: []string{"GET", "HEAD"}}, "HEAD", "/", nil, true},
		{"other method", inject.Match{Methods: []string{"GET", "HEAD"}}, "POST", "/", nil, false},
		{"method in another case", inject.Match{Methods: []string{"GET"}}, "get", "/", nil, false},
		{"path", inject.Match{Path: "/v1/models"}, "GET", "/v1/models?x=1", nil, true},
		{"longer path", inject.Match{Path: "/v1/models"}, "GET", "/v1/models/x", nil, false},
		{"trailing slash", inject.Match{Path: "/v1/models"}, "GET", "/v1/models/", nil, false},
		{"prefix", inject.Match{PathPrefix: "/v1"}, "GET", "/v1/models", nil, true},
		{"prefix itself", inject.Match{PathPrefix: "/v1/"}, "GET", "/v1", nil, true},
		{"prefix of a segment", inject.Match{PathPrefix: "/v1"}, "GET", "/v1x", nil, false},
		{"regex", inject.Match{PathRegex: `/repos/[^/]+/[^/]+/issues`}, "GET", "/repos/a/b/issues", nil, true},
		{"regex is whole", inject.Match{PathRegex: `/repos/a|/x`}, "GET", "/repos/a/b", nil, false},
		{"decoded", inject.Match{Path: "/a b"}, "GET", "/a%20b", nil, true},
		{"query", inject.Match{Query: map[string]string{"env": "test"}}, "GET", "/?env=test&x=1", nil, true},
		{"query twice", inject.Match{Query: map[string]string{"env": "test"}}, "GET", "/?env=test&env=prod", nil, false},
		{"query that can't be read", inject.Match{Query: map[string]string{"env": "test"}}, "GET", "/?env=test;x", nil, false},
		{"header", inject.Match{Headers: map[string]string{"x-env": "test"}}, "GET", "/", []string{"X-Env", "test"}, true},
		{"header twice", inject.Match{Headers: map[string]string{"x-env": "test"}}, "GET", "/", []string{"X-Env", "test", "X_Env", "prod"}, false},
		{"all of them", inject.Match{Methods: []string{"GET"}, PathPrefix: "/v1", Query: map[string]string{"a": "b"}}, "GET", "/v1/x?a=b", nil, true},
		{"all but one", inject.Match{Methods: []string{"GET"}, PathPrefix: "/v1", Query: map[string]string{"a": "b"}}, "GET", "/v2/x?a=b", nil, false},
	}
	for _, c := range cases {
		placed, forced := good(), good()
		placed.Match, forced.Match = &c.match, &c.match
		forced.Env, forced.Header, forced.Mode = "FORCED", "X-Api-Key", inject.ModeSet
		s := compile(t, placed, forced)
		r := request("https://api.example.com"+c.target, append(c.headers, "Authorization", "Bearer "+s.Env()["API_TOKEN"])...)
		r.Method = c.method
		_, err := s.Apply(t.Context(), r, https(t, "api.example.com"), holding(t, map[string]string{"token": plain}))
		if c.applies != (r.Header.Get("Authorization") == "Bearer "+plain) || c.applies != (err == nil) {
			t.Errorf("%s: %v, %v", c.name, r.Header, err)
		}
		r = request("https://api.example.com"+c.target, c.headers...)
		r.Method = c.method
		_, err = s.Apply(t.Context(), r, https(t, "api.example.com"), holding(t, map[string]string{"token": plain}))
		if c.applies != (r.Header.Get("X-Api-Key") == plain) || err != nil {
			t.Errorf("%s, set: %v, %v", c.name, r.Header, err)
		}
	}
}

// Case: B37
func TestPathsThatCanBeReadTwoWaysAreRefused(t *testing.T) {
	t.Parallel()
	b := good()
	b.Match = &inject.Match{PathPrefix: "/v1"}
	s := compile(t, b)
	for _, path := range []string{
		"/v1/models/../secrets", "/v1/%6dodels", "/v1/models%2f..%2fx", "//v1/models", "/v1/models;x", "/v1//models",
		"/v1/./models", "/v1/%2e%2e/x", "/v1/..", "/v1/a%5cb", `/v1/a\b`, "/v1/a%00b", "/v1/a%3bx", "/v1/a%252e", "/v1/%2E",
	} {
		r := request("https://api.example.com/", "Authorization", "Bearer "+s.Env()["API_TOKEN"])
		u, err := url.ParseRequestURI(path)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.Path, r.URL.RawPath = u.Path, u.RawPath
		_, err = s.Apply(t.Context(), r, https(t, "api.example.com"), nil)
		var refused *inject.RequestError
		if !errors.As(err, &refused) || strings.Contains(r.Header.Get("Authorization"), plain) {
			t.Errorf("%s: %v", path, err)
		}
		if got := r.URL.EscapedPath(); got != u.EscapedPath() {
			t.Errorf("%s became %s", path, got)
		}
	}
}

func TestMatchersAreChecked(t *testing.T) {
	t.Parallel()
	cases := []struct {
		match inject.Match
		path  string
	}{
		{inject.Match{Methods: []string{"GET POST"}}, "match.methods"},
		{inject.Match{Path: "v1"}, "match.path"},
		{inject.Match{PathPrefix: "/v1/../x"}, "match.path_prefix"},
		{inject.Match{PathRegex: `(?=x)`}, "match.path_regex"},
		{inject.Match{Headers: map[string]string{"a b": "x"}}, "match.headers"},
	}
	for _, c := range cases {
		b := good()
		b.Match = &c.match
		_, err := inject.Compile("box-1", []inject.Binding{b}, testKey)
		var be *inject.BindingError
		if !errors.As(err, &be) || be.Path != "bindings[0]."+c.path {
			t.Errorf("%+v: %v", c.match, err)
		}
	}
	for in, want := range map[string]string{
		`{"methods":"GET"}`:  "bindings[0].match.methods: want an array of strings",
		`{"method":["GET"]}`: "bindings[0].match.method: unknown key",
		`7`:                  "bindings[0].match: want an object",
		`null`:               "bindings[0].match: want an object",
		`{"query":{"a":1}}`:  "bindings[0].match.query: want an object of strings",
	} {
		_, err := inject.ParseBindings([]byte(`[{"env":"A","host":"a.example.com","secret":"env:A","match":` + in + `}]`))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
	doc := `[{"kind":"honey","env":"H","shape":"github"},{"env":"A","host":"a.example.com","secret":"env:A","shape":"custom",` +
		`"pattern":"e2b_[0-9a-f]{40}","match":{"methods":["GET"],"path_prefix":"/v1"},"on_misuse":"forward","in_body":"strict"}]`
	if all, err := inject.ParseBindings([]byte(doc)); err != nil || all[1].Match.Methods[0] != http.MethodGet {
		t.Errorf("got %+v, %v", all, err)
	}
}

func TestHandlingIsChecked(t *testing.T) {
	t.Parallel()
	cases := []struct {
		change func(*inject.Binding)
		path   string
	}{
		{func(b *inject.Binding) { b.Kind = "x" }, "kind"},
		{func(b *inject.Binding) { b.Kind = inject.KindHoney }, "kind"},
		{func(b *inject.Binding) { b.Shape = "githob" }, "shape"},
		{func(b *inject.Binding) { b.Shape = "custom" }, "pattern"},
		{func(b *inject.Binding) { b.Pattern = "e2b_[0-9a-f]{40}" }, "pattern"},
		{func(b *inject.Binding) { b.OnMisuse = "ignore" }, "on_misuse"},
		{func(b *inject.Binding) { b.InBody = "refuse" }, "in_body"},
		{func(b *inject.Binding) { b.Env, b.Host, b.Shape = "OTHER", "x.example.com", "npm" }, "shape"},
		{func(b *inject.Binding) { *b = inject.Binding{Kind: inject.KindHoney, Env: "OTHER"} }, "env"},
	}
	for _, c := range cases {
		b := good()
		c.change(&b)
		_, err := inject.Compile("box-1", []inject.Binding{another(), b}, testKey)
		var be *inject.BindingError
		if !errors.As(err, &be) || be.Path != "bindings[1]."+c.path {
			t.Errorf("%+v: %v", b, err)
		}
	}
}
