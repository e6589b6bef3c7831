package inject_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/inject/secret"
)

// Ledger: SI-7. Case: C01, C02
func TestBasicIsDecodedAndEncodedAgain(t *testing.T) {
	t.Parallel()
	s := compile(t, good())
	ph := s.Env()["API_TOKEN"]
	from := holding(t, map[string]string{"token": plain})
	std, url := base64.StdEncoding, base64.URLEncoding
	rawStd, rawURL := base64.RawStdEncoding, base64.RawURLEncoding
	enc := func(e *base64.Encoding, text string) string { return e.EncodeToString([]byte(text)) }
	swapped := "Basic " + enc(std, "x-access-token:"+plain)
	odd := "x-access-token\xff\xfe?>:" + ph // both alphabets differ on it
	oddSwapped := "Basic " + enc(std, "x-access-token\xff\xfe?>:"+plain)
	own := enc(std, "own:credential")
	cases := []struct{ name, sent, want string }{
		{"password", "Basic " + enc(std, "x-access-token:"+ph), swapped},
		{"user", "Basic " + enc(std, ph+":x-oauth-basic"), "Basic " + enc(std, plain+":x-oauth-basic")},
		{"both", "Basic " + enc(std, ph+":"+ph), "Basic " + enc(std, plain+":"+plain)},
		{"user alone", "Basic " + enc(std, ph), "Basic " + enc(std, plain)},
		{"user, empty password", "Basic " + enc(std, ph+":"), "Basic " + enc(std, plain+":")},
		{"password with colons", "Basic " + enc(std, "u:a:"+ph+":b"), "Basic " + enc(std, "u:a:"+plain+":b")},
		{"lower-case scheme", "basic " + enc(std, "x-access-token:"+ph), swapped},
		{"upper-case scheme", "BASIC " + enc(std, "x-access-token:"+ph), swapped},
		{"spaces", "  Basic  \t " + enc(std, "x-access-token:"+ph) + "  ", swapped},
		{"no padding", "Basic " + enc(rawStd, "x-access-token:"+ph), swapped},
		{"url-safe", "Basic " + enc(url, odd), oddSwapped},
		{"url-safe, no padding", "Basic " + enc(rawURL, odd), oddSwapped},
		{"standard, same bytes", "Basic " + enc(std, odd), oddSwapped},
		{"its own", "Basic " + own, "Basic " + own},
		{"its own, oddly", "bAsIc   " + own, "bAsIc   " + own},
		{"no base64", "Basic !!!", "Basic !!!"},
		{"no credentials", "Basic", "Basic"},
		{"no credentials, space", "Basic ", "Basic "},
		{"no colon", "Basic " + enc(std, "own"), "Basic " + enc(std, "own")},
		{"another scheme", "Basically " + enc(std, "u:"+ph), "Basically " + enc(std, "u:"+ph)},
		{"base64 of another scheme", "Bearer " + enc(std, "u:"+ph), "Bearer " + enc(std, "u:"+ph)},
		{"the placeholder is the base64", "Basic " + ph, "Basic " + plain},
	}
	for _, c := range cases {
		r := request("https://api.example.com/", "Authorization", c.sent)
		got, err := s.Apply(t.Context(), r, https(t, "api.example.com"), from)
		if err != nil || r.Header.Get("Authorization") != c.want || (len(got.Injected) == 1) != (c.sent != c.want) {
			t.Errorf("%s: got %q, %+v, %v, want %q", c.name, r.Header.Get("Authorization"), got, err, c.want)
		}
	}
}

// "X-Other: Basic …" is decoded only where a binding names that header.
//
// Case: C02
func TestBasicInAnotherHeader(t *testing.T) {
	t.Parallel()
	b := good()
	b.Header = "X-Other"
	s := compile(t, b)
	sent := "Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+s.Env()["API_TOKEN"]))
	r := request("https://api.example.com/", "X-Other", sent)
	_, err := s.Apply(t.Context(), r, https(t, "api.example.com"), holding(t, map[string]string{"token": plain}))
	if want := "Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+plain)); err != nil || r.Header.Get("X-Other") != want {
		t.Errorf("got %q, %v", r.Header.Get("X-Other"), err)
	}
}

// What Basic can carry isn't what a header can: any text, but no control
// characters, and no colon in the user (RFC 7617 §2).
func TestBasicValues(t *testing.T) {
	t.Parallel()
	s := compile(t, good())
	ph := s.Env()["API_TOKEN"]
	cases := []struct {
		sent, value string
		ok          bool
	}{
		{"u:" + ph, "pässword with spaces ", true},
		{"u:" + ph, "a:b", true},
		{ph, "user:password", true},
		{ph + ":p", "a:b", false},
		{"u:" + ph, "a\nb", false},
		{"u:" + ph, "a\x00b", false},
	}
	for _, c := range cases {
		r := request("https://api.example.com/", "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(c.sent)))
		_, err := s.Apply(t.Context(), r, https(t, "api.example.com"), holdingAny(c.value))
		if (err == nil) != c.ok || err != nil && !errors.Is(err, secret.ErrUnavailable) {
			t.Errorf("%q in %q: %v", c.value, c.sent, err)
		}
		if user, password, ok := (&http.Request{Header: r.Header}).BasicAuth(); c.ok && (!ok || user+":"+password != strings.ReplaceAll(c.sent, ph, c.value)) {
			t.Errorf("%q in %q: origin decodes %q, %q", c.value, c.sent, user, password)
		}
	}
}
