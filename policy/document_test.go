package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sallyport/sallyport/policy"
)

const twoRules = `{"version":"v1","rules":[` +
	`{"match":{"host_glob":"registry.example.com"},"action":{"type":"allow"}},` +
	`{"match":{"host_glob":"*.Example.com"},"action":{"type":"deny"}}]}`

var twoRulesDoc = policy.Document{Rules: []policy.Rule{
	{HostGlob: "registry.example.com", Action: policy.Allow},
	{HostGlob: "*.Example.com", Action: policy.Deny},
}}

// Ledger: NP-1, NP-4, NP-5, NP-9, NP-14
func TestParse(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, in string
		want     policy.Document
		encoded  string // empty: the same as in
	}{
		{"two rules", twoRules, twoRulesDoc, ""},
		{"unrestricted", `{}`, policy.Document{Unrestricted: true}, ""},
		{"no internet", `{"version":"v1","rules":[]}`, policy.Document{}, ""},
		{"null", `null`, policy.Document{}, `{"version":"v1","rules":[]}`},
		{"yaml null", "~", policy.Document{}, `{"version":"v1","rules":[]}`},
		{"yaml", `
# who may be reached
version: v1
rules:
  - match: {host_glob: registry.example.com}
    action: {type: allow}
  - match:
      host_glob: "*.Example.com"
    action:
      type: deny
`, twoRulesDoc, twoRules},
		{"yaml flow", `{version: v1, rules: []}`, policy.Document{}, `{"version":"v1","rules":[]}`},
		{"duplicates kept", `{"version":"v1","rules":[` + rule("a.test", "deny") + `,` + rule("a.test", "allow") + `]}`,
			policy.Document{Rules: []policy.Rule{{"a.test", policy.Deny}, {"a.test", policy.Allow}}}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := policy.Parse([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if !got.Equal(c.want) {
				t.Errorf("Parse: %s", cmp.Diff(c.want, got))
			}
			encoded, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if c.encoded == "" {
				c.encoded = c.in
			}
			if string(encoded) != c.encoded {
				t.Errorf("encoded as %s, want %s", encoded, c.encoded)
			}
		})
	}
}

func rule(glob, action string) string {
	return fmt.Sprintf(`{"match":{"host_glob":%q},"action":{"type":%q}}`, glob, action)
}

func rules(list ...string) string {
	return `{"version":"v1","rules":[` + strings.Join(list, ",") + `]}`
}

// Ledger: NP-2, NP-3, NP-6, NP-7, NP-8, NP-13
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct{ in, path, msg string }{
		{``, ``, `found nothing`},
		{"# nothing\n", ``, `found nothing`},
		{`[]`, ``, `expected a policy (an object), found a list`},
		{`"v1"`, ``, `found a string`},
		{`{"version":"v1"}`, `rules`, `missing`},
		{`{"rules":[]}`, `version`, `missing`},
		{`{"version":"v2","rules":[]}`, `version`, `expected "v1", found "v2"`},
		{`{"version":"V1","rules":[]}`, `version`, `expected "v1"`},
		{`{"version":1,"rules":[]}`, `version`, `found a number (1); put it in quotes`},
		{`{"version":"v1","rules":null}`, `rules`, `expected a list of rules (a list), found null`},
		{`{"version":"v1","rules":{}}`, `rules`, `found an object`},
		{`{"version":null,"rules":[]}`, `version`, `found null`},
		{`{"version":"v1","rules":[],"default":"allow"}`, `default`, `unknown field; expected only version and rules`},
		{`{"Version":"v1","rules":[]}`, `Version`, `unknown field`},
		{`{"version":"v1","rules":[],"a\nb":1}`, `["a\nb"]`, `unknown field`},
		{`{"version":"v1","rules":[{"match":{"host_glob":"a"},"action":{"type":"allow"},"port":443}]}`, `rules[0].port`, `unknown field`},
		{`{"version":"v1","rules":[{"match":{"host_glob":"a","path":"/"},"action":{"type":"allow"}}]}`, `rules[0].match.path`, `unknown field`},
		{`{"version":"v1","rules":[{"match":{"host_glob":"a"},"action":{"type":"allow","log":true}}]}`, `rules[0].action.log`, `unknown field`},
		{`{"version":"v1","rules":["a"]}`, `rules[0]`, `expected a rule (an object), found a string`},
		{`{"version":"v1","rules":[null]}`, `rules[0]`, `found null`},
		{`{"version":"v1","rules":[{"action":{"type":"allow"}}]}`, `rules[0].match`, `missing`},
		{`{"version":"v1","rules":[{"match":{"host_glob":"a"}}]}`, `rules[0].action`, `missing`},
		{`{"version":"v1","rules":[{"match":"a","action":{"type":"allow"}}]}`, `rules[0].match`, `found a string`},
		{`{"version":"v1","rules":[{"match":{},"action":{"type":"allow"}}]}`, `rules[0].match.host_glob`, `missing`},
		{`{"version":"v1","rules":[{"match":{"host_glob":7},"action":{"type":"allow"}}]}`, `rules[0].match.host_glob`, `found a number (7); put it in quotes`},
		{`{"version":"v1","rules":[{"match":{"host_glob":null},"action":{"type":"allow"}}]}`, `rules[0].match.host_glob`, `found null`},
		{rules(rule("", "allow")), `rules[0].match.host_glob`, `write * for every host`},
		{rules(rule(strings.Repeat("a", 254), "allow")), `rules[0].match.host_glob`, `longer than 253`},
		{rules(rule("a", "allow"), rule("b", "Allow")), `rules[1].action.type`, `expected "allow" or "deny", found "Allow"`},
		{rules(rule("a", "")), `rules[0].action.type`, `expected "allow" or "deny", found ""`},
		{`{"version":"v1","rules":[{"match":{"host_glob":"a"},"action":{}}]}`, `rules[0].action.type`, `missing; expected "allow" or "deny"`},
		{`{"version":"v1","rules":[{"match":{"host_glob":"a"},"action":{"type":true}}]}`, `rules[0].action.type`, `found a boolean (true)`},
		{rules(repeat(rule("a.test", "allow"), 201)...), `rules`, `expected at most 200 rules, found 201`},
		{`{"version":"v1","version":"v1","rules":[]}`, `version`, `duplicate key`},
		{`{"version":"v1","rules":[],"rules":[` + rule("*", "allow") + `]}`, `rules`, `duplicate key`},
		{`{"version":"v1","rules":[{"match":{"host_glob":"a","host_glob":"*"},"action":{"type":"allow"}}]}`, `rules[0].match.host_glob`, `duplicate key`},
		{`{"version":"v1","rules":[{"match":{"host_glob":"a"},"action":{"type":"deny","\u0074ype":"allow"}}]}`, `rules[0].action.type`, `duplicate key`},
		{`{"x":{"y":[{"z":1,"z":2}]}}`, `x.y[0].z`, `duplicate key`},
		{"version: v1\nversion: v1\nrules: []\n", `version`, `duplicate key`},
		{"version: v1\nrules:\n- match: {host_glob: a, host_glob: b}\n  action: {type: allow}\n", `rules[0].match.host_glob`, `duplicate key`},
		{"version: v1\nrules:\n- match: {host_glob: *.example.com}\n  action: {type: allow}\n", ``, `needs quotes: "*.example.com"`},
		{"version: v1\nrules:\n- match:\n    host_glob: *\n  action: {type: allow}\n", ``, `needs quotes: "*.example.com"`},
		{"version: v1\nrules:\n- match: &m {host_glob: a}\n  action: {type: allow}\n- match: *m\n  action: {type: allow}\n", `rules[0].match`, `anchors`},
		{"version: v1\nrules:\n- match: {host_glob: !!str 7}\n  action: {type: allow}\n", `rules[0].match.host_glob`, `tags`},
		{"version: v1\nrules:\n- match: {host_glob: 10.5}\n  action: {type: allow}\n", `rules[0].match.host_glob`, `found a number (10.5); put it in quotes`},
		{"version: v1\n<<: {rules: []}\n", ``, `plain name as key`},
		{"version: v1\nrules: []\n---\nversion: v1\nrules: []\n", ``, `one YAML document`},
		{"version: v1\n\trules: []\n", ``, `expected YAML or JSON`},
		{"{}{}", ``, `one YAML document`},
		{`{"version":"v1","rules":[`, ``, `expected YAML or JSON`},
		{"\xff", ``, `expected`},
		{strings.Repeat("[", 100) + strings.Repeat("]", 100), strings.Repeat("[0]", 33), `levels of nesting`},
		{strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), strings.TrimPrefix(strings.Repeat(".a", 33), "."), `levels of nesting`},
		{manyKeys(1000), ``, `expected at most 16 members`},
		{`{"x":[` + strings.Repeat("1,", 1000) + `1]}`, `x`, `expected at most 800 items`},
		{`{x: [` + strings.Repeat("1,", 1000) + `1]}`, `x`, `expected at most 800 items`},
		{`{"version":"v1","rules":[` + strings.Repeat("1,", policy.MaxSize/2) + `1]}`, ``, `expected at most 1048576 bytes`},
		{`{version: v1, rules: [` + strings.Repeat("1,", policy.MaxSize/2) + `1]}`, ``, `expected at most 1048576 bytes`},
	}
	for _, c := range cases {
		doc, err := policy.Parse([]byte(c.in))
		var e *policy.Error
		if !errors.As(err, &e) {
			t.Errorf("Parse(%.200q): error %v, want an *Error", c.in, err)
			continue
		}
		if e.Path != c.path || !strings.Contains(e.Msg, c.msg) {
			t.Errorf("Parse(%.200q): %q: %q, want %q: %q", c.in, e.Path, e.Msg, c.path, c.msg)
		}
		if !doc.Equal(policy.Document{}) {
			t.Errorf("Parse(%.200q) returned a document beside its error", c.in)
		}
	}
	if _, err := policy.Parse([]byte(rules(repeat(rule("a.test", "allow"), 200)...))); err != nil {
		t.Errorf("200 rules: %v", err)
	}
}

func repeat(s string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = s
	}
	return list
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":1`, i)
	}
	return "{" + b.String()[1:] + "}"
}

// spec is how other packages embed a document.
type spec struct {
	ID            string          `json:"id"`
	NetworkPolicy policy.Document `json:"network_policy"`
}

// What is read costs many times its size, before its shape can be judged.
func TestUnmarshalRefusesGiants(t *testing.T) {
	t.Parallel()
	giant := `{"version":"v1","rules":[` + strings.Repeat("1,", policy.MaxSize/2) + `1]}`
	var doc policy.Document
	var e *policy.Error
	if err := json.Unmarshal([]byte(giant), &doc); !errors.As(err, &e) || !strings.Contains(e.Msg, "expected at most 1048576 bytes") {
		t.Errorf("error %.200v", err)
	}
}

// The largest document that rules and globs permit, in its longest spelling.
func TestParseTakesTheLargest(t *testing.T) {
	t.Parallel()
	label := strings.Repeat(`\ud835\udc1a`, 62) // an "a" in bold
	glob := strings.Join([]string{label, label, label, label}, ".")
	one := `{"match":{"host_glob":"` + glob + `"},"action":{"type":"allow"}}`
	doc, err := policy.Parse([]byte(rules(repeat(one, policy.MaxRules)...)))
	if err != nil || len(doc.Rules) != policy.MaxRules {
		t.Errorf("%d rules, %.300v", len(doc.Rules), err)
	}
}

// Ledger: NP-9
func TestDocumentEmbedded(t *testing.T) {
	t.Parallel()
	cases := []struct {
		in   string
		want policy.Document
	}{
		{`{"id":"a"}`, policy.Document{}},
		{`{"id":"a","network_policy":null}`, policy.Document{}},
		{`{"id":"a","network_policy":{}}`, policy.Document{Unrestricted: true}},
		{`{"id":"a","network_policy":` + twoRules + `}`, twoRulesDoc},
		{"id: a\nnetwork_policy: {}\n", policy.Document{Unrestricted: true}},
		{"id: a\nnetwork_policy:\n", policy.Document{}},
		{"id: a\n", policy.Document{}},
	}
	for _, c := range cases {
		var s spec
		if err := yaml.UnmarshalStrict([]byte(c.in), &s); err != nil {
			t.Errorf("%s: %v", c.in, err)
		}
		if !s.NetworkPolicy.Equal(c.want) {
			t.Errorf("%s: %s", c.in, cmp.Diff(c.want, s.NetworkPolicy))
		}
	}

	s := spec{NetworkPolicy: twoRulesDoc}
	err := json.Unmarshal([]byte(`{"network_policy":{"version":"v1","rules":[{"match":{"host_glob":"a:443"},"action":{"type":"allow"}}]}}`), &s)
	if e := (*policy.Error)(nil); !errors.As(err, &e) || e.Path != "rules[0].match.host_glob" {
		t.Errorf("embedded error: %v", err)
	}
	if !s.NetworkPolicy.Equal(twoRulesDoc) {
		t.Error("a failed decoding changed the document")
	}
}

func TestMarshalRefusesWhatCompileRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct {
		doc  policy.Document
		path string
	}{
		{policy.Document{Unrestricted: true, Rules: twoRulesDoc.Rules}, "rules"},
		{policy.Document{Rules: make([]policy.Rule, 201)}, "rules"},
		{policy.Document{Rules: []policy.Rule{{HostGlob: "a", Action: 7}}}, "rules[0].action.type"},
		{policy.Document{Rules: []policy.Rule{{HostGlob: "a..b"}}}, "rules[0].match.host_glob"},
	}
	for _, c := range cases {
		p, err := policy.Compile(c.doc)
		if e := (*policy.Error)(nil); !errors.As(err, &e) || e.Path != c.path {
			t.Errorf("Compile(%+v): %v, want an error at %s", c.doc, err, c.path)
		}
		if d := p.Decide(mustHost(t, "a")); d.Action != policy.Deny {
			t.Errorf("the Policy beside an error allows: %+v", d)
		}
		if out, err := json.Marshal(c.doc); err == nil {
			t.Errorf("encoded as %s", out)
		}
	}
}
