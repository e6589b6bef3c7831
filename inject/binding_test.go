package inject_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/inject"
)

// good is a binding that compiles; the cases below change one thing.
func good() inject.Binding {
	return inject.Binding{Env: "API_TOKEN", Host: "api.example.com", Secret: "memory:token"}
}

// Ledger: SI-3, SI-5, SI-14
func TestCompileRefusesABinding(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		change func(*inject.Binding)
		path   string // "" means accepted
	}{
		{"as it is", func(*inject.Binding) {}, ""},
		{"upper case, trailing dot", func(b *inject.Binding) { b.Host = "API.Example.COM." }, ""},
		{"another port", func(b *inject.Binding) { b.Port = 8443 }, ""},
		{"another header", func(b *inject.Binding) { b.Header = "x-api-key" }, ""},
		{"set", func(b *inject.Binding) { b.Mode, b.Format = inject.ModeSet, "Bearer {value}" }, ""},
		{"set without a format", func(b *inject.Binding) { b.Mode = inject.ModeSet }, ""},
		{"cookie by option", func(b *inject.Binding) { b.Header, b.AllowCookie = "cookie", true }, ""},
		{"no variable", func(b *inject.Binding) { b.Env = "" }, "env"},
		{"variable with a dash", func(b *inject.Binding) { b.Env = "API-TOKEN" }, "env"},
		{"variable with a digit first", func(b *inject.Binding) { b.Env = "1A" }, "env"},
		{"long variable", func(b *inject.Binding) { b.Env = strings.Repeat("A", 129) }, "env"},
		{"no host", func(b *inject.Binding) { b.Host = "" }, "host"},
		{"every host", func(b *inject.Binding) { b.Host = "*" }, "host"},
		{"glob", func(b *inject.Binding) { b.Host = "*.example.com" }, "host"},
		{"suffix", func(b *inject.Binding) { b.Host = ".example.com" }, "host"},
		{"mid glob", func(b *inject.Binding) { b.Host = "api.*.com" }, "host"},
		{"class", func(b *inject.Binding) { b.Host = "ap[ij].example.com" }, "host"},
		{"alternatives", func(b *inject.Binding) { b.Host = "{a,b}.example.com" }, "host"},
		{"IPv4", func(b *inject.Binding) { b.Host = "192.0.2.7" }, "host"},
		{"IPv6", func(b *inject.Binding) { b.Host = "[2001:db8::1]" }, "host"},
		{"odd IPv4", func(b *inject.Binding) { b.Host = "0x7f.1" }, "host"},
		{"host with a port", func(b *inject.Binding) { b.Host = "api.example.com:443" }, "host"},
		{"URL", func(b *inject.Binding) { b.Host = "https://api.example.com" }, "host"},
		{"no secret", func(b *inject.Binding) { b.Secret = "" }, "secret"},
		{"bare secret", func(b *inject.Binding) { b.Secret = "token" }, "secret"},
		{"unknown mode", func(b *inject.Binding) { b.Mode = "append" }, "mode"},
		{"format without set", func(b *inject.Binding) { b.Format = "Bearer {value}" }, "format"},
		{"format without a value", func(b *inject.Binding) { b.Mode, b.Format = inject.ModeSet, "Bearer" }, "format"},
		{"format with two", func(b *inject.Binding) { b.Mode, b.Format = inject.ModeSet, "{value}{value}" }, "format"},
		{"format with a line end", func(b *inject.Binding) { b.Mode, b.Format = inject.ModeSet, "a\r\nX: {value}" }, "format"},
		{"header with a space", func(b *inject.Binding) { b.Header = "X Key" }, "header"},
		{"header with a line end", func(b *inject.Binding) { b.Header = "X\r\nY" }, "header"},
		{"pseudo-header", func(b *inject.Binding) { b.Header = ":authority" }, "header"},
		{"cookie", func(b *inject.Binding) { b.Header = "Cookie" }, "header"},
	}
	for _, c := range cases {
		b := good()
		c.change(&b)
		_, err := inject.Compile("box-1", []inject.Binding{another(), b}, testKey)
		if c.path == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var be *inject.BindingError
		if !errors.As(err, &be) || be.Path != "bindings[1]."+c.path {
			t.Errorf("%s: got %v, want an error at bindings[1].%s", c.name, err, c.path)
		}
	}
}

// another is a second good binding, so that indices are seen to be right.
func another() inject.Binding {
	return inject.Binding{Env: "OTHER", Host: "other.example.com", Secret: "memory:other"}
}

// Ledger: SI-14
func TestHeadersThatRouteOrReflectAreNotBound(t *testing.T) {
	t.Parallel()
	for _, header := range []string{
		"Host", "host", "Content-Length", "Transfer-Encoding", "connection", "Keep-Alive", "TE", "Trailer",
		"Upgrade", "Proxy-Authorization", "proxy-connection", "User-Agent", "Referer", "Origin",
		"X-Forwarded-For", "x-forwarded-host", "Forwarded", "Via", "traceparent", "TraceState",
		"Expect", "Max-Forwards", "Accept-Encoding", "Set-Cookie", "HTTP2-Settings",
	} {
		b := good()
		b.Header = header
		if _, err := inject.Compile("box-1", []inject.Binding{b}, testKey); err == nil {
			t.Errorf("%s can be bound", header)
		}
	}
}

// Ledger: SI-13
func TestOneBindingPerHostPortAndHeader(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		change func(*inject.Binding)
		ok     bool
	}{
		{"the same", func(*inject.Binding) {}, false},
		{"header in another case", func(b *inject.Binding) { b.Header = "AUTHORIZATION" }, false},
		{"host in another case", func(b *inject.Binding) { b.Host = "API.EXAMPLE.COM." }, false},
		{"the default port written out", func(b *inject.Binding) { b.Port = 443 }, false},
		{"another mode", func(b *inject.Binding) { b.Mode = inject.ModeSet }, false},
		{"another header", func(b *inject.Binding) { b.Header = "X-Api-Key" }, true},
		{"another port", func(b *inject.Binding) { b.Port = 8443 }, true},
		{"another host", func(b *inject.Binding) { b.Host = "b.example.com" }, true},
	}
	for _, c := range cases {
		second := good()
		second.Env, second.Secret = "SECOND", "memory:second"
		c.change(&second)
		_, err := inject.Compile("box-1", []inject.Binding{good(), second}, testKey)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil && err.Error() != "bindings[1].header: Authorization of api.example.com:443 is already bound to API_TOKEN" {
			t.Errorf("%s: error %q", c.name, err)
		}
	}
}

// Ledger: SI-29
func TestAtMost64Bindings(t *testing.T) {
	t.Parallel()
	var many []inject.Binding
	for i := range inject.MaxBindings + 1 {
		b := good()
		b.Host = fmt.Sprintf("h%d.example.com", i)
		many = append(many, b)
	}
	if _, err := inject.Compile("box-1", many[:inject.MaxBindings], testKey); err != nil {
		t.Error(err)
	}
	if _, err := inject.Compile("box-1", many, testKey); err == nil {
		t.Error("one too many compiled")
	}
}

func TestBindingsAreDecodedStrictly(t *testing.T) {
	t.Parallel()
	cases := []struct{ in, want string }{
		{`[{"env":"A","host":"a.example.com","secret":"env:A"}]`, ""},
		{`[]`, ""},
		{`[{"env":"A","host":"a.example.com","port":8443,"header":"X-K","mode":"set","format":"k={value}","secret":"env:A","allow_cookie":false}]`, ""},
		{`{}`, "bindings: want an array of objects"},
		{`[1]`, "bindings[0]: want an object"},
		{`[null]`, "bindings[0]: want an object"},
		{`[{"env":"A","host":"a.example.com","secret":"env:A"},{}]`, "bindings[1].env: required"},
		{`[{"env":"A","secret":"env:A"}]`, "bindings[0].host: required"},
		{`[{"env":"A","host":"a.example.com"}]`, "bindings[0].secret: required"},
		{`[{"env":"A","host":"a.example.com","secret":"env:A","hots":"x"}]`, "bindings[0].hots: unknown key"},
		{`[{"Env":"A","host":"a.example.com","secret":"env:A"}]`, "bindings[0].Env: unknown key"},
		{`[{"env":"A","host":"a.example.com","secret":"env:A","host":"b.example.com"}]`, "bindings[0].host: duplicate key"},
		{`[{"env":"A","host":null,"secret":"env:A"}]`, "bindings[0].host: want a string"},
		{`[{"env":7,"host":"a.example.com","secret":"env:A"}]`, "bindings[0].env: want a string"},
		{`[{"env":"A","host":"a.example.com","secret":"env:A","port":65536}]`, "bindings[0].port: want a port, 1 to 65535"},
		{`[{"env":"A","host":"a.example.com","secret":"env:A","port":"443"}]`, "bindings[0].port: want a port, 1 to 65535"},
		{`[{"env":"A","host":"a.example.com","secret":"env:A","port":-1}]`, "bindings[0].port: want a port, 1 to 65535"},
		{`[{"env":"A","host":"a.example.com","secret":"env:A","allow_cookie":"yes"}]`, "bindings[0].allow_cookie: want true or false"},
		{`[{"env":"A","host":"*.example.com","secret":"env:A"}]`, "bindings[0].host: a secret is bound to exactly one host: no globs and no addresses"},
	}
	for _, c := range cases {
		_, err := inject.ParseBindings([]byte(c.in))
		if got := fmt.Sprint(err); got != c.want && (c.want != "" || err != nil) {
			t.Errorf("%s:\n got %s\nwant %s", c.in, got, c.want)
		}
		var be *inject.BindingError
		if err != nil && !errors.As(err, &be) {
			t.Errorf("%s: error is a %T", c.in, err)
		}
	}
}

// A binding inside another document is decoded as strictly, and encodes to
// what it was.
func TestBindingRoundTrip(t *testing.T) {
	t.Parallel()
	const in = `{"bindings":[{"env":"A","host":"a.example.com","port":8443,"header":"X-K","mode":"set","format":"k={value}","secret":"env:A","allow_cookie":true}]}`
	var doc struct {
		Bindings []inject.Binding `json:"bindings"`
	}
	if err := json.Unmarshal([]byte(in), &doc); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(doc)
	if err != nil || string(out) != in {
		t.Errorf("got %s, %v", out, err)
	}
	if err := json.Unmarshal([]byte(strings.Replace(in, "header", "headers", 1)), &doc); err == nil {
		t.Error("an unknown key was accepted inside another document")
	}
}

// Ledger: SI-8
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	b := good()
	placeholder := func(id string, key inject.Key, b inject.Binding) string {
		s, err := inject.Compile(id, []inject.Binding{b}, key)
		if err != nil {
			t.Fatal(err)
		}
		return s.Env()[b.Env]
	}
	base := placeholder("box-1", testKey, b)
	if !regexp.MustCompile(`^sp_ph_[a-z2-7]{26}$`).MatchString(base) {
		t.Errorf("placeholder %q: want a prefix and 130 bits", base)
	}
	if placeholder("box-1", testKey, b) != base {
		t.Error("the same boundary has another placeholder the second time")
	}
	other := b
	other.Env = "API_TOKEN2"
	for what, got := range map[string]string{
		"boundary": placeholder("box-2", testKey, b),
		"key":      placeholder("box-1", inject.Key{9}, b),
		"variable": placeholder("box-1", testKey, other),
	} {
		if got == base {
			t.Errorf("another %s has the same placeholder", what)
		}
	}
	// Neither the secret nor where it goes is in it.
	moved := b
	moved.Secret, moved.Host = "memory:rotated", "b.example.com"
	if placeholder("box-1", testKey, moved) != base {
		t.Error("the placeholder depends on more than boundary and variable")
	}
}

// The parts of the derivation can't be shifted into each other.
func TestPlaceholderPartsAreSeparate(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, part := range [][2]string{{"box", "AB"}, {"boxA", "B"}, {"bo", "xAB"}, {"", "boxAB"}} {
		b := good()
		b.Env = part[1]
		s, err := inject.Compile(part[0], []inject.Binding{b}, testKey)
		if err != nil {
			t.Fatal(err)
		}
		p := s.Env()[b.Env]
		if seen[p] != "" {
			t.Errorf("%q and %q share a placeholder", part, seen[p])
		}
		seen[p] = fmt.Sprint(part)
	}
}

func TestSetWithoutBindings(t *testing.T) {
	t.Parallel()
	var none *inject.Set
	if len(none.Env()) != 0 || none.Binds(host(t, "a.example.com"), 443) {
		t.Error("a nil Set has bindings")
	}
	if _, err := none.Apply(t.Context(), request("https://a.example.com/"), https(t, "a.example.com"), nil); err != nil {
		t.Error(err)
	}
	empty := compile(t)
	if _, err := empty.Apply(t.Context(), request("https://a.example.com/"), https(t, "a.example.com"), nil); err != nil {
		t.Error(err)
	}
}

func TestBindsExactly(t *testing.T) {
	t.Parallel()
	s := compile(t, good())
	for name, want := range map[string]bool{"api.example.com": true, "API.example.com.": true, "example.com": false, "x.api.example.com": false} {
		if got := s.Binds(host(t, name), 443); got != want {
			t.Errorf("Binds(%s, 443) = %v", name, got)
		}
	}
	if s.Binds(host(t, "api.example.com"), 8443) || s.Binds(host(t, "api.example.com"), 80) {
		t.Error("binds another port")
	}
	s.Env()["API_TOKEN"] = "changed"
	if s.Env()["API_TOKEN"] == "changed" {
		t.Error("Env shares its map")
	}
}

func TestHeadersThatServersConfuseAreOne(t *testing.T) {
	t.Parallel()
	first, second := good(), good()
	first.Header, second.Header, second.Env = "X-Api-Key", "x_api_key", "SECOND"
	if _, err := inject.Compile("box-1", []inject.Binding{first, second}, testKey); err == nil {
		t.Error("X-Api-Key and X_api_key are bound beside each other")
	}
}
