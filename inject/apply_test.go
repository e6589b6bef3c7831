package inject_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/secret"
)

// Ledger: SI-1, SI-4, SI-5
func TestApplyRewritesTheBoundHeaderAlone(t *testing.T) {
	t.Parallel()
	s := compile(t, good())
	ph := s.Env()["API_TOKEN"]
	from := holding(t, map[string]string{"token": plain})
	cases := []struct{ name, sent, want string }{
		{"bearer", "Bearer " + ph, "Bearer " + plain},
		{"bare", ph, plain},
		{"twice", ph + "," + ph, plain + "," + plain},
		{"in quotes", `token="` + ph + `"`, `token="` + plain + `"`},
		{"none", "Bearer own-credential", "Bearer own-credential"},
		{"empty", "", ""},
		{"cut short", "Bearer " + ph[:len(ph)-1], "Bearer " + ph[:len(ph)-1]},
		{"in capitals", "Bearer " + strings.ToUpper(ph), "Bearer " + strings.ToUpper(ph)},
	}
	for _, c := range cases {
		r := request("https://api.example.com/v1?q=1", "authorization", c.sent, "X-Other", "kept", "Accept", "a", "Accept", "b")
		got, err := s.Apply(t.Context(), r, https(t, "api.example.com"), from)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want := http.Header{"Authorization": {c.want}, "X-Other": {"kept"}, "Accept": {"a", "b"}}
		if diff := cmp.Diff(want, r.Header); diff != "" {
			t.Errorf("%s: headers (-want +got):\n%s", c.name, diff)
		}
		if r.URL.String() != "https://api.example.com/v1?q=1" {
			t.Errorf("%s: URL is %s", c.name, r.URL)
		}
		if (len(got.Injected) == 1) != (c.sent != c.want) {
			t.Errorf("%s: injected %+v", c.name, got.Injected)
		}
	}
}

// Ledger: SI-18
func TestInjectionNamesButNeverShows(t *testing.T) {
	t.Parallel()
	s := compile(t, good())
	r := request("https://api.example.com/", "Authorization", "Bearer "+s.Env()["API_TOKEN"])
	got, err := s.Apply(t.Context(), r, https(t, "api.example.com"), holding(t, map[string]string{"token": plain}))
	want := []inject.Injected{{Env: "API_TOKEN", Secret: "memory:token", Header: "Authorization", Version: "1"}}
	if err != nil || !slices.Equal(got.Injected, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Ledger: SI-3, SI-6, SI-9. Case: C07, C08
func TestPlaceholderElsewhereIsMisuse(t *testing.T) {
	t.Parallel()
	ported := inject.Binding{Env: "PORTED", Host: "ported.example.com", Port: 8443, Secret: "memory:token"}
	keyed := inject.Binding{Env: "KEYED", Host: "keyed.example.com", Header: "X-Api-Key", Secret: "memory:token"}
	set := inject.Binding{Env: "FORCED", Host: "set.example.com", Mode: inject.ModeSet, Format: "Bearer {value}", Secret: "memory:token"}
	s := compile(t, good(), ported, keyed, set)
	ph := s.Env()
	escaped := strings.ReplaceAll(ph["API_TOKEN"], "_", "%5F")
	basic := func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }
	type destination = inject.Destination
	at := func(scheme, name string, port uint16) destination {
		return destination{Scheme: scheme, Host: host(t, name), Port: port}
	}
	bound := at("https", "api.example.com", 443)
	cases := []struct {
		name  string
		dest  destination
		r     *http.Request
		where string
	}{
		{"other host", at("https", "evil.test", 443), request("https://evil.test/", "Authorization", ph["API_TOKEN"]), "header Authorization"},
		{"subdomain", at("https", "x.api.example.com", 443), request("https://x.api.example.com/", "Authorization", ph["API_TOKEN"]), "header Authorization"},
		{"parent", at("https", "example.com", 443), request("https://example.com/", "Authorization", ph["API_TOKEN"]), "header Authorization"},
		{"address", at("https", "192.0.2.1", 443), request("https://192.0.2.1/", "Authorization", ph["API_TOKEN"]), "header Authorization"},
		{"another bound host", at("https", "keyed.example.com", 443), request("https://keyed.example.com/", "X-Api-Key", ph["API_TOKEN"]), "header X-Api-Key"},
		{"both in one header", at("https", "keyed.example.com", 443), request("https://keyed.example.com/", "X-Api-Key", ph["KEYED"]+ph["API_TOKEN"]), "header X-Api-Key"},
		{"plain HTTP", at("http", "api.example.com", 443), request("http://api.example.com:443/", "Authorization", ph["API_TOKEN"]), "header Authorization"},
		{"plain HTTP on 80", at("http", "api.example.com", 80), request("http://api.example.com/", "Authorization", ph["API_TOKEN"]), "header Authorization"},
		{"no scheme", at("", "api.example.com", 443), request("https://api.example.com/", "Authorization", ph["API_TOKEN"]), "header Authorization"},
		{"another port", at("https", "api.example.com", 8443), request("https://api.example.com:8443/", "Authorization", ph["API_TOKEN"]), "header Authorization"},
		{"the default port", at("https", "ported.example.com", 443), request("https://ported.example.com/", "Authorization", ph["PORTED"]), "header Authorization"},
		{"another header", bound, request("https://api.example.com/", "X-Key", ph["API_TOKEN"]), "header X-Key"},
		{"cookie", bound, request("https://api.example.com/", "Cookie", "a=b; k="+ph["API_TOKEN"]), "header Cookie"},
		{"overwritten header, another's", at("https", "set.example.com", 443), request("https://set.example.com/", "Authorization", ph["API_TOKEN"]), "header Authorization"},
		{"basic elsewhere", at("https", "evil.test", 443), request("https://evil.test/", "Authorization", basic("u:"+ph["API_TOKEN"])), "header Authorization"},
		{"basic in another header", bound, request("https://api.example.com/", "X-Auth", basic("u:"+ph["API_TOKEN"])), "header X-Auth"},
		{"another's in basic", bound, request("https://api.example.com/", "Authorization", basic(ph["KEYED"]+":"+ph["API_TOKEN"])), "header Authorization"},
		{"second value", bound, request("https://api.example.com/", "X-Key", "a", "X-Key", ph["API_TOKEN"]), "header X-Key"},
		{"path", bound, request("https://api.example.com/v1/" + ph["API_TOKEN"]), "url"},
		{"path, escaped", bound, request("https://api.example.com/v1/" + escaped), "url"},
		{"query", bound, request("https://api.example.com/?key=" + ph["API_TOKEN"]), "url"},
		{"query, escaped", bound, request("https://api.example.com/?key=" + escaped), "url"},
		{"query, escaped in full", bound, request("https://api.example.com/?k%zz=" + percentAll(ph["API_TOKEN"])), "url"},
		{"userinfo", bound, request("https://u:" + ph["API_TOKEN"] + "@api.example.com/"), "url"},
		{"host label", at("https", "evil.test", 443), request("https://" + ph["API_TOKEN"] + ".evil.test/"), "url"},
	}
	for _, c := range cases {
		// No source: misuse is found before any secret is looked up.
		before := c.r.Header.Clone()
		got, err := s.Apply(t.Context(), c.r, c.dest, nil)
		var misuse *inject.MisuseError
		if !errors.As(err, &misuse) || misuse.Where != c.where || len(got.Injected) != 0 {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
			continue
		}
		if strings.Contains(err.Error(), ph[misuse.Env]) || ph[misuse.Env] == "" {
			t.Errorf("%s: error %q", c.name, err)
		}
		if diff := cmp.Diff(before, c.r.Header); diff != "" {
			t.Errorf("%s: a refused request was changed:\n%s", c.name, diff)
		}
	}
}

func percentAll(s string) string {
	const hex = "0123456789aBCdEf"
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte('%')
		b.WriteByte(hex[s[i]>>4])
		b.WriteByte(hex[s[i]&15])
	}
	return b.String()
}

// Case: C04
func TestOneVariableForSeveralHosts(t *testing.T) {
	t.Parallel()
	api := inject.Binding{Env: "TOKEN", Host: "api.hub.test", Secret: "memory:a"}
	content := inject.Binding{Env: "TOKEN", Host: "raw.content.test", Secret: "memory:b"}
	s := compile(t, api, content)
	from := holding(t, map[string]string{"a": "secret-a", "b": "secret-b"})
	ph := s.Env()["TOKEN"]
	for name, want := range map[string]string{
		"api.hub.test": "secret-a", "raw.content.test": "secret-b", "hub.test": "", "content.test": "",
	} {
		r := request("https://"+name+"/", "Authorization", "Bearer "+ph)
		_, err := s.Apply(t.Context(), r, https(t, name), from)
		got := r.Header.Get("Authorization")
		if want == "" && err == nil || want != "" && got != "Bearer "+want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Ledger: SI-13
func TestSeveralHeadersOfOneRequest(t *testing.T) {
	t.Parallel()
	key := inject.Binding{Env: "KEY", Host: "api.example.com", Header: "x-api-key", Secret: "memory:key"}
	s := compile(t, good(), key)
	r := request("https://api.example.com/", "Authorization", "Bearer "+s.Env()["API_TOKEN"], "X-Api-Key", s.Env()["KEY"])
	got, err := s.Apply(t.Context(), r, https(t, "api.example.com"), holding(t, map[string]string{"token": plain, "key": "second"}))
	if err != nil || len(got.Injected) != 2 || r.Header.Get("Authorization") != "Bearer "+plain || r.Header.Get("X-Api-Key") != "second" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// All or nothing: the first secret isn't written when the second can't be had.
func TestFailureLeavesTheRequestAlone(t *testing.T) {
	t.Parallel()
	key := inject.Binding{Env: "KEY", Host: "api.example.com", Header: "X-Api-Key", Secret: "memory:absent"}
	s := compile(t, good(), key)
	r := request("https://api.example.com/", "Authorization", "Bearer "+s.Env()["API_TOKEN"], "X-Api-Key", s.Env()["KEY"])
	before := r.Header.Clone()
	got, err := s.Apply(t.Context(), r, https(t, "api.example.com"), holding(t, map[string]string{"token": plain}))
	if !errors.Is(err, secret.ErrNotFound) || len(got.Injected) != 0 || !cmp.Equal(before, r.Header) {
		t.Errorf("got %+v, %v, headers %v", got, err, r.Header)
	}
}

// Ledger: SI-5. Case: C32
func TestSetOverwritesWhatTheClientSent(t *testing.T) {
	t.Parallel()
	b := good()
	b.Mode, b.Format = inject.ModeSet, "Bearer {value}"
	s := compile(t, b)
	from := holding(t, map[string]string{"token": plain})
	for name, headers := range map[string]http.Header{
		"nothing":     nil,
		"its own":     {"Authorization": {"Bearer own"}},
		"twice":       {"Authorization": {"Bearer own", "Basic b3duOm93bg=="}},
		"placeholder": {"Authorization": {s.Env()["API_TOKEN"]}},
		"spellings":   {"Authorization": {"Bearer own"}, "authorization": {"Bearer own"}, "AUTHORIZATION": {"x"}},
	} {
		r := request("https://api.example.com/")
		r.Header = headers
		_, err := s.Apply(t.Context(), r, https(t, "api.example.com"), from)
		if want := (http.Header{"Authorization": {"Bearer " + plain}}); err != nil || !cmp.Equal(want, r.Header) {
			t.Errorf("%s: got %v, %v", name, r.Header, err)
		}
	}
	r := request("https://other.example.com/", "Authorization", "Bearer own")
	if _, err := s.Apply(t.Context(), r, https(t, "other.example.com"), from); err != nil || r.Header.Get("Authorization") != "Bearer own" {
		t.Errorf("set on another host: %v, %v", r.Header, err)
	}
}

// Case: C02, C32
func TestRepeatedHeaderIsRefusedOnABoundHost(t *testing.T) {
	t.Parallel()
	key := inject.Binding{Env: "KEY", Host: "keyed.example.com", Header: "X-Api-Key", Secret: "memory:token"}
	s := compile(t, good(), key)
	ph := s.Env()
	from := holding(t, map[string]string{"token": plain})
	cases := []struct {
		name, host string
		header     http.Header
		refused    bool
	}{
		{"authorization twice", "api.example.com", http.Header{"Authorization": {ph["API_TOKEN"], "own"}}, true},
		{"without a placeholder", "api.example.com", http.Header{"Authorization": {"own", "own"}}, true},
		{"in another spelling", "api.example.com", http.Header{"Authorization": {"own"}, "authorization": {ph["API_TOKEN"]}}, true},
		{"where another header is bound", "keyed.example.com", http.Header{"Authorization": {"own", "own"}}, true},
		{"bound header twice", "keyed.example.com", http.Header{"X-Api-Key": {"own", ph["KEY"]}}, true},
		{"bound header with an underscore", "keyed.example.com", http.Header{"X_api_key": {"own"}, "X-Api-Key": {ph["KEY"]}}, true},
		{"an underscore alone", "keyed.example.com", http.Header{"X_api_key": {"own"}}, false},
		{"other header twice", "api.example.com", http.Header{"Accept": {"a", "b"}}, false},
		{"unbound host", "other.example.com", http.Header{"Authorization": {"own", "own"}}, false},
	}
	for _, c := range cases {
		r := request("https://" + c.host + "/")
		r.Header = c.header
		_, err := s.Apply(t.Context(), r, https(t, c.host), from)
		var re *inject.RequestError
		if errors.As(err, &re) != c.refused || (err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Ledger: SI-14. Case: C14, C15
func TestUnusableValueIsRefusedAtInjection(t *testing.T) {
	t.Parallel()
	s := compile(t, good())
	ph := s.Env()["API_TOKEN"]
	for _, value := range []string{"k\nX-Evil: 1", "k\r\n", "k\x00", "\x7fk", "kä", " k", "k ", "\ufeffk"} {
		from := holdingAny(value)
		r := request("https://api.example.com/", "Authorization", "Bearer "+ph)
		_, err := s.Apply(t.Context(), r, https(t, "api.example.com"), from)
		var ve *secret.ValueError
		if !errors.As(err, &ve) || !errors.Is(err, secret.ErrUnavailable) || !strings.Contains(err.Error(), "memory:token") {
			t.Errorf("%q: got %v", value, err)
			continue
		}
		if strings.Contains(err.Error(), value) || r.Header.Get("Authorization") != "Bearer "+ph {
			t.Errorf("%q: error %q, header %q", value, err, r.Header.Get("Authorization"))
		}
	}
}

// A header full of placeholders doesn't make the edge hold gigabytes.
func TestGrowthIsBounded(t *testing.T) {
	t.Parallel()
	s := compile(t, good())
	from := holding(t, map[string]string{"token": strings.Repeat("k", secret.MaxValue)})
	r := request("https://api.example.com/", "Authorization", strings.Repeat(s.Env()["API_TOKEN"], 30))
	var re *inject.RequestError
	if _, err := s.Apply(t.Context(), r, https(t, "api.example.com"), from); !errors.As(err, &re) {
		t.Errorf("got %v", err)
	}
	r = request("https://api.example.com/", "Authorization", "Bearer "+s.Env()["API_TOKEN"])
	if _, err := s.Apply(t.Context(), r, https(t, "api.example.com"), from); err != nil {
		t.Errorf("the largest secret: %v", err)
	}
}

// TRACE exists to send a request's headers back (RFC 9110 §9.3.8).
func TestEchoingMethodsCarryNoSecret(t *testing.T) {
	t.Parallel()
	set := inject.Binding{Env: "FORCED", Host: "set.example.com", Mode: inject.ModeSet, Secret: "memory:token"}
	s := compile(t, good(), set)
	from := holding(t, map[string]string{"token": plain})
	for _, dest := range []string{"api.example.com", "set.example.com"} {
		for _, method := range []string{"TRACE", "trace", "Track", "TRACK"} {
			r := request("https://" + dest + "/")
			r.Method = method
			r.Header.Set("Authorization", "Bearer "+s.Env()["API_TOKEN"])
			if dest == "set.example.com" {
				r.Header.Del("Authorization")
			}
			before := r.Header.Clone()
			_, err := s.Apply(t.Context(), r, https(t, dest), from)
			var refused *inject.RequestError
			if !errors.As(err, &refused) {
				t.Errorf("%s %s: error %v, want a *RequestError", method, dest, err)
			}
			if diff := cmp.Diff(before, r.Header); diff != "" {
				t.Errorf("%s %s: headers (-want +got):\n%s", method, dest, diff)
			}
		}
	}
}

// Servers that hand headers on as variables (RFC 3875 §4.1.18) can't tell a
// hyphen from an underscore.
func TestSetOverwritesEverySpelling(t *testing.T) {
	t.Parallel()
	s := compile(t, inject.Binding{Env: "KEY", Host: "api.example.com", Header: "X-Api-Key", Mode: inject.ModeSet, Secret: "memory:token"})
	r := request("https://api.example.com/", "X-Api-Key", "own", "X_Api_Key", "own", "x-API_key", "own", "X_api", "kept")
	if _, err := s.Apply(t.Context(), r, https(t, "api.example.com"), holding(t, map[string]string{"token": plain})); err != nil {
		t.Fatal(err)
	}
	want := http.Header{"X-Api-Key": {plain}, "X_api": {"kept"}}
	if diff := cmp.Diff(want, r.Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}
