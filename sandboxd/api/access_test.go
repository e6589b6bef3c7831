package api_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
)

const (
	noInternet = `{"version":"v1","rules":[]}`
	npmOnly    = `{"version":"v1","rules":[{"match":{"host_glob":"npm.example.com"},"action":{"type":"allow"}}]}`
)

func expected(policy string, privileged bool) string {
	return fmt.Sprintf(`,"expected_access":{"network_policy":%s,"privileged":%v}`, policy, privileged)
}

// Ledger: NP-9, NP-10, NP-12, NP-30, NP-31, NP-32, NP-34
func TestAccessPrecondition(t *testing.T) {
	t.Parallel()
	s := start(t)
	cases := []struct {
		name, saved string // policy that is saved
		privileged  bool   // what is saved
		patch       string
		status      int
		code        string
	}{
		{"change of none", noInternet, false, `{"network_policy":` + npmOnly + `}`, 428, "precondition_required"},
		{"change to none", npmOnly, false, `{"network_policy":` + noInternet + `}`, 428, "precondition_required"},
		{"null", npmOnly, false, `{"network_policy":null}`, 428, "precondition_required"},
		{"null with the expectation", npmOnly, false, `{"network_policy":null` + expected(npmOnly, false) + `}`, 200, ""},
		{"null where it is so", noInternet, false, `{"network_policy":null}`, 200, ""},
		{"change to open", noInternet, false, `{"network_policy":{}}`, 428, "precondition_required"},
		{"change of open", `{}`, false, `{"network_policy":` + npmOnly + `}`, 200, ""},
		{"the same again", npmOnly, false, `{"network_policy":` + npmOnly + `}`, 200, ""},
		{"the same in another order", npmOnly, false, `{"network_policy":{"rules":[{"action":{"type":"allow"},"match":{"host_glob":"npm.example.com"}}],  "version":"v1"}}`, 200, ""},
		{"as expected", npmOnly, false, `{"network_policy":{}` + expected(npmOnly, false) + `}`, 200, ""},
		{"another policy expected", npmOnly, false, `{"network_policy":{}` + expected(noInternet, false) + `}`, 412, "precondition_failed"},
		{"another privileged expected", npmOnly, false, `{"network_policy":{}` + expected(npmOnly, true) + `}`, 412, "precondition_failed"},
		{"privileged on", npmOnly, false, `{"privileged":true}`, 428, "precondition_required"},
		{"privileged on as expected", npmOnly, false, `{"privileged":true` + expected(npmOnly, false) + `}`, 200, ""},
		{"privileged on under open", `{}`, false, `{"privileged":true}`, 428, "precondition_required"},
		{"privileged stays on", npmOnly, true, `{"privileged":true}`, 200, ""},
		{"privileged off", npmOnly, true, `{"privileged":false}`, 200, ""},
		{"privileged off by null", npmOnly, true, `{"privileged":null}`, 200, ""},
		{"a name, wrongly expected", npmOnly, false, `{"name":"x"` + expected(noInternet, false) + `}`, 412, "precondition_failed"},
		{"a name, rightly expected", npmOnly, false, `{"name":"x"` + expected(npmOnly, false) + `}`, 200, ""},
		{"half an expectation", npmOnly, false, `{"name":"x","expected_access":{"privileged":false}}`, 400, "invalid_request"},
		{"the other half", npmOnly, false, `{"name":"x","expected_access":{"network_policy":{}}}`, 400, "invalid_request"},
		{"more than an expectation", npmOnly, false, `{"name":"x","expected_access":{"network_policy":{},"privileged":false,"x":1}}`, 400, "invalid_request"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path, saved := s.create(t, fmt.Sprintf(`{"name":"a","provider":"runs","network_policy":%s,"privileged":%v}`, c.saved, c.privileged))
			r := s.call(t, "PATCH", path, c.patch)
			r.expect(t, c.name, c.status, c.code)
			if c.status == 200 {
				return
			}
			if c.status == http.StatusPreconditionFailed {
				if r.at("error", "details", "current", "network_policy") == nil || r.at("error", "details", "current", "privileged") != c.privileged {
					t.Errorf("details: %s", r.Text)
				}
			}
			if now := s.call(t, "GET", path, ""); now.Text != saved.Text {
				t.Errorf("a refused change changed something: %s", now.Text)
			}
		})
	}
}

// Two changes that expect the same can't both happen, a thousand times.
// Ledger: NP-33
func TestOneOfTwoChangesHappens(t *testing.T) {
	t.Parallel()
	s := start(t)
	path, _ := s.create(t, `{"name":"a","provider":"runs"}`)
	saved := noInternet
	for i := range 1000 {
		next := func(who string) string {
			return fmt.Sprintf(`{"version":"v1","rules":[{"match":{"host_glob":"%s%d.example.com"},"action":{"type":"allow"}}]}`, who, i)
		}
		var replies [2]reply
		var wg sync.WaitGroup
		for n, who := range []string{"a", "b"} {
			wg.Go(func() {
				replies[n] = s.call(t, "PATCH", path, `{"network_policy":`+next(who)+expected(saved, false)+`}`)
			})
		}
		wg.Wait()
		switch [2]int{replies[0].Status, replies[1].Status} {
		case [2]int{200, 412}:
			saved = next("a")
		case [2]int{412, 200}:
			saved = next("b")
		default:
			t.Fatalf("round %d: %d %s, %d %s", i, replies[0].Status, replies[0].Text, replies[1].Status, replies[1].Text)
		}
	}
}

// Ledger: EV-29
func TestIfMatch(t *testing.T) {
	t.Parallel()
	s := start(t)
	path, made := s.create(t, `{"name":"a","provider":"runs"}`)
	tag := made.Header.Get("ETag")
	if got := s.call(t, "GET", path, "").Header.Get("ETag"); got != tag || tag == "" {
		t.Errorf("ETag %q, then %q", tag, got)
	}
	same := s.call(t, "PATCH", path, `{"name":"a"}`, "If-Match", tag)
	same.expect(t, "nothing new", 200, "")
	if same.Header.Get("ETag") != tag {
		t.Errorf("nothing changed and the ETag became %s", same.Header.Get("ETag"))
	}
	changed := s.call(t, "PATCH", path, `{"name":"b"}`, "If-Match", `"x", `+tag)
	changed.expect(t, "change", 200, "")
	if changed.Header.Get("ETag") == tag {
		t.Error("a change left the ETag")
	}
	stale := s.call(t, "PATCH", path, `{"name":"c"}`, "If-Match", tag)
	stale.expect(t, "stale", 412, "precondition_failed")
	if stale.text("error", "details", "current", "etag") != changed.Header.Get("ETag") || stale.param() != "If-Match" {
		t.Errorf("stale: %s", stale.Text)
	}
	for _, weak := range []string{"W/" + changed.Header.Get("ETag"), `"02"`, `""`} {
		s.call(t, "PATCH", path, `{"name":"c"}`, "If-Match", weak).expect(t, weak, 412, "precondition_failed")
	}
	s.call(t, "DELETE", path, "", "If-Match", tag).expect(t, "delete", 412, "precondition_failed")
	s.call(t, "PATCH", path, `{"name":"c"}`, "If-Match", "*").expect(t, "any", 200, "")
	s.call(t, "DELETE", path, "", "If-Match", `"3"`).expect(t, "delete", 204, "")
}
