package api_test

import (
	"strings"
	"testing"
)

// Ledger: NP-48, NP-49
func TestPolicyTools(t *testing.T) {
	t.Parallel()
	s := start(t)
	rules := `{"version":"v1","rules":[{"match":{"host_glob":"*.example.com"},"action":{"type":"allow"}},{"match":{"host_glob":"a.example.com"},"action":{"type":"deny"}}]}`
	cases := []struct {
		name, call, body string
		want             []string
	}{
		{"evaluate", "evaluate", `{"network_policy":` + rules + `,"hosts":["A.Example.com.","b.test","a b"]}`, []string{
			`{"input":"A.Example.com.","host":"a.example.com","verdict":"allow","rule":0,"host_glob":"*.example.com","reason":"allowed"}`,
			`{"input":"b.test","host":"b.test","verdict":"deny","rule":-1,"reason":"network_policy_denied"}`, `"reason":"bad_host","detail":`}},
		{"evaluate null", "evaluate", `{"network_policy":null,"hosts":["b.test"]}`, []string{`"verdict":"deny"`}},
		{"explain", "explain", `{"network_policy":` + rules + `,"host":"b.test"}`, []string{`"missed":[{"rule":0,`, `"why":"`}},
		{"lint", "lint", `{"network_policy":` + rules + `}`, []string{`"code":"unreachable-rule"`, `"code":"apex-missing"`}},
		{"diff", "diff", `{"old":` + noInternet + `,"new":` + rules + `}`, []string{`"widens":true`, `"pattern":"*.example.com"`}},
		{"no difference", "diff", `{"old":` + rules + `,"new":` + rules + `}`, []string{`{"widens":false,"changes":[]}`}},
		{"equal", "equal", `{"old":` + noInternet + `,"new":{"version":"v1","rules":[{"match":{"host_glob":"*"},"action":{"type":"deny"}}]}}`, []string{`{"equal":true}`}},
		{"not equal", "equal", `{"old":` + noInternet + `,"new":` + rules + `}`, []string{`"equal":false,"witness":"`}},
	}
	for _, c := range cases {
		r := s.call(t, "POST", "/v1/network_policies:"+c.call, c.body)
		r.expect(t, c.name, 200, "")
		for _, want := range c.want {
			if !strings.Contains(r.Text, want) {
				t.Errorf("%s: no %s in %s", c.name, want, r.Text)
			}
		}
	}
	for call, param := range map[string]string{
		`evaluate {}`: "network_policy", `evaluate {"network_policy":{}}`: "hosts", `evaluate {"network_policy":{},"hosts":[]}`: "hosts",
		`evaluate {"network_policy":{},"hosts":[1]}`: "hosts[0]", `evaluate {"network_policy":{"x":1},"hosts":["a"]}`: "network_policy.x",
		`explain {"network_policy":{}}`: "host", `lint {}`: "network_policy", `diff {"old":{}}`: "new", `equal {"new":{}}`: "old", `equal {"old":{},"new":{},"x":1}`: "x",
	} {
		name, body, _ := strings.Cut(call, " ")
		r := s.call(t, "POST", "/v1/network_policies:"+name, body)
		r.expect(t, call, 400, "invalid_request")
		if r.param() != param {
			t.Errorf("%s: param %q, want %q", call, r.param(), param)
		}
	}
}
