package inject_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/policy"
)

// dump is everything of a request head that would go upstream, Basic decoded.
func dump(r *http.Request) string {
	var b strings.Builder
	b.WriteString(r.Host + " " + r.RequestURI + " " + r.URL.String() + "\n")
	for name, values := range r.Header {
		for _, value := range values {
			b.WriteString(name + ": " + value + "\n")
			if user, password, ok := (&http.Request{Header: http.Header{"Authorization": {value}}}).BasicAuth(); ok {
				b.WriteString(user + ":" + password + "\n")
			}
		}
	}
	return b.String()
}

// The property behind the package: the secret is in the bound header of a
// request over TLS to exactly the bound host and port, or nowhere; and the
// placeholder goes nowhere at all in a request that is let through.
//
// Ledger: SI-3, SI-4, SI-6
func FuzzApplyWritesOnlyWhereBound(f *testing.F) {
	b := inject.Binding{Env: "TOKEN", Host: "api.example.com", Secret: "memory:token"}
	set, err := inject.Compile("box-1", []inject.Binding{b}, testKey)
	if err != nil {
		f.Fatal(err)
	}
	ph := set.Env()["TOKEN"]
	from := holding(f, map[string]string{"token": plain})
	// "@" stands for the placeholder in fuzzed text, "&" for its base64 in
	// Basic credentials.
	f.Add("https", "api.example.com", uint16(443), "Authorization", "Bearer @", "X-Other", "x", "/")
	f.Add("https", "evil.test", uint16(443), "authorization", "&", "Accept", "*/*", "/?q=@")
	f.Add("http", "api.example.com", uint16(80), "AUTHORIZATION", "basic  &", "Cookie", "a=@", "/%73p_ph")
	f.Add("https", "API.example.com.", uint16(8443), "X-Api-Key", "@@", "Authorization", "@", "/")
	f.Add("https", "192.0.2.1", uint16(443), "Authorization", "@", "authorization", "@", "/@")
	f.Add("https", "api.example.com", uint16(443), "Authorization", "Basic &", "authoriZation", "", "/")
	f.Fuzz(func(t *testing.T, scheme, name string, port uint16, h1, v1, h2, v2, path string) {
		dest, err := policy.CanonicalHost(name)
		if err != nil {
			return
		}
		basic := base64.StdEncoding.EncodeToString([]byte("user:" + ph))
		expand := strings.NewReplacer("@", ph, "&", basic).Replace
		r := request("https://host.invalid/")
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut(expand(path), "?")
		r.Header = http.Header{h1: {expand(v1)}}
		r.Header[h2] = append(r.Header[h2], expand(v2))
		before := r.Header.Clone()
		got, err := set.Apply(t.Context(), r, inject.Destination{Scheme: scheme, Host: dest, Port: port}, from)

		bound := scheme == "https" && dest.String() == "api.example.com" && port == 443
		sent := dump(r)
		if strings.Contains(sent, plain) != (len(got.Injected) == 1) {
			t.Fatalf("reported %+v, sent:\n%s", got, sent)
		}
		if err != nil && (len(got.Injected) != 0 || strings.Contains(err.Error(), plain) || strings.Contains(err.Error(), ph)) {
			t.Fatalf("refused with %v, %+v", err, got)
		}
		if err == nil && strings.Contains(sent, ph) {
			t.Fatalf("the placeholder was let through:\n%s", sent)
		}
		if len(got.Injected) == 1 && !bound {
			t.Fatalf("injected for %s %s:%d", scheme, dest, port)
		}
		for header, values := range r.Header {
			if header == "Authorization" {
				continue
			}
			if strings.Contains(strings.Join(values, "\n"), plain) {
				t.Fatalf("the secret is in %q", header)
			}
			if was, ok := before[header]; ok && strings.Join(was, "\n") != strings.Join(values, "\n") && !bound {
				t.Fatalf("header %q was %q, is %q", header, was, values)
			}
		}
	})
}

// Basic credentials come out as they went in, but for the placeholder.
//
// Ledger: SI-7
func FuzzBasicRoundTrip(f *testing.F) {
	set, err := inject.Compile("box-1", []inject.Binding{good()}, testKey)
	if err != nil {
		f.Fatal(err)
	}
	ph := set.Env()["API_TOKEN"]
	from := holding(f, map[string]string{"token": plain})
	dest := https(f, "api.example.com")
	f.Add("x-access-token", "@", uint8(0))
	f.Add("@", "x-oauth-basic", uint8(1))
	f.Add("\xff\xfe", "a:@:b", uint8(2))
	f.Add("", "", uint8(3))
	f.Fuzz(func(t *testing.T, user, password string, dialect uint8) {
		if strings.Contains(user, ":") {
			return
		}
		encodings := [...]*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}
		schemes := [...]string{"Basic ", "basic ", "BASIC  ", " bAsIc\t"}
		text := strings.ReplaceAll(user+":"+password, "@", ph)
		sent := schemes[dialect/4%4] + encodings[dialect%4].EncodeToString([]byte(text))
		r := request("https://api.example.com/")
		r.Header["Authorization"] = []string{sent}
		got, err := set.Apply(t.Context(), r, dest, from)
		if err != nil {
			t.Fatal(err)
		}
		value := r.Header.Get("Authorization")
		if !strings.Contains(text, ph) {
			if value != sent || len(got.Injected) != 0 {
				t.Fatalf("%q became %q", sent, value)
			}
			return
		}
		u, p, ok := r.BasicAuth()
		if want := strings.ReplaceAll(text, ph, plain); !ok || u+":"+p != want {
			t.Fatalf("%q became %q, want the credentials %q", sent, value, want)
		}
	})
}
