package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// pieces are what random bodies are made of.
var pieces = func() []string {
	all := []string{"{", "}", "[", "]", ":", ",", `"`, "null", "true", "-1", "0", "1e999", "\\u0000", "\xff", "\x00", " ", `{"version":"v1","rules":[]}`,
		`"expected_access"`, `"script"`, `"rules"`, `"match"`, `"host_glob"`, `"*"`, `"accelerator"`, `"cpu_milli"`, strings.Repeat("[", 2000), strings.Repeat(`{"a":`, 2000)}
	for _, f := range fields {
		all = append(all, fmt.Sprintf("%q:", f.name))
		for _, v := range f.values {
			if len(v.json) < 300 {
				all = append(all, v.json)
			}
		}
	}
	return all
}()

// randomBody is an object of random members, broken now and then.
func randomBody(r *rand.Rand) string {
	var parts []string
	for range r.IntN(8) {
		f := fields[r.IntN(len(fields))]
		text := pieces[r.IntN(len(pieces))]
		if r.IntN(3) > 0 {
			text = f.values[r.IntN(len(f.values))].json
		}
		parts = append(parts, fmt.Sprintf("%q:%s", f.name, text))
	}
	body := "{" + strings.Join(parts, ",") + "}"
	for range r.IntN(4) {
		i := r.IntN(len(body) + 1)
		switch r.IntN(3) {
		case 0:
			body = body[:i] + pieces[r.IntN(len(pieces))] + body[i:]
		case 1:
			body = body[:i] + body[min(len(body), i+r.IntN(5)):]
		case 2:
			body = body[:i] + string(rune(r.IntN(256))) + body[i:]
		}
	}
	return body
}

func TestRandomBodiesAreNobodysFault(t *testing.T) {
	t.Parallel()
	s := start(t)
	path, _ := s.create(t, `{"name":"a","provider":"runs"}`)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	calls := [][2]string{{"POST", "/v1/environments"}, {"PATCH", path}, {"POST", "/v1/network_policies:evaluate"}, {"POST", "/v1/network_policies:diff"}, {"POST", "/v1/api_keys"}, {"POST", path + "/setup_runs"}}
	refused := 0
	for i := range 1000 {
		call, body := calls[i%len(calls)], randomBody(r)
		if i%3 > 0 {
			call = calls[i%2]
		}
		got := s.call(t, call[0], call[1], body)
		if got.Status >= 500 {
			t.Errorf("seed %d: %s %s %.300q: %d %s", seed, call[0], call[1], body, got.Status, got.Text)
		}
		if got.Status >= 400 {
			refused++
			got.expect(t, body, got.Status, got.code())
		}
	}
	if refused < 300 {
		t.Errorf("only %d were refused: the bodies test nothing", refused)
	}
}

func FuzzBody(f *testing.F) {
	s := start(f)
	path, _ := s.create(f, `{"name":"a","provider":"runs"}`)
	for _, field := range fields {
		for _, v := range field.values[:3] {
			f.Add(fmt.Sprintf(`{"name":"a","provider":"runs",%q:%s}`, field.name, v.json))
		}
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, call := range [][2]string{{http.MethodPost, "/v1/environments"}, {http.MethodPatch, path}} {
			if r := s.call(t, call[0], call[1], body); r.Status >= 500 || r.Status >= 400 && r.code() == "" {
				t.Errorf("%s: %d %s", call[0], r.Status, r.Text)
			}
		}
	})
}
