package schema_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/schema"
)

func compile(t testing.TB, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("test.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("test.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fits(t testing.TB, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(asJSON, &v); err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// An editor never marks what the parser takes.
func TestValidPoliciesFit(t *testing.T) {
	t.Parallel()
	s := compile(t, schema.Policy)
	files, err := filepath.Glob("../testdata/known/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if !strings.HasSuffix(f.Name, ".yaml") {
				continue
			}
			if err := fits(t, s, f.Data); err != nil {
				t.Errorf("%s: %s: %v", file, f.Name, err)
			}
		}
	}
}

// And it marks the mistakes that are made most.
//
// Ledger: NP-3, NP-6, NP-7, NP-8
func TestInvalidPoliciesDoNotFit(t *testing.T) {
	t.Parallel()
	s := compile(t, schema.Policy)
	for _, text := range []string{
		`{version: v1}`, `{rules: []}`, `{version: v2, rules: []}`, `{version: v1, rules: null}`, `[]`, `{version: v1, rules: [], extra: 1}`,
		`{version: v1, rules: [{match: {host_glob: a.test}}]}`,
		`{version: v1, rules: [{match: {host_glob: ""}, action: {type: allow}}]}`,
		`{version: v1, rules: [{match: {host_glob: "https://a.test"}, action: {type: allow}}]}`,
		`{version: v1, rules: [{match: {host_glob: a.test, port: 1}, action: {type: allow}}]}`,
		`{version: v1, rules: [{match: {host_glob: a.test}, action: {type: Allow}}]}`,
	} {
		if _, err := policy.Parse([]byte(text)); err == nil {
			t.Errorf("%s is valid", text)
		}
		if fits(t, s, []byte(text)) == nil {
			t.Errorf("%s fits", text)
		}
	}
}

func TestFixtures(t *testing.T) {
	t.Parallel()
	s := compile(t, schema.Fixtures)
	if err := fits(t, s, []byte(`{cases: [{host: a.test, verdict: deny, why: because}]}`)); err != nil {
		t.Error(err)
	}
	for _, text := range []string{`{}`, `{cases: []}`, `{cases: [{host: a.test}]}`, `{cases: [{host: a.test, verdict: no}]}`} {
		if fits(t, s, []byte(text)) == nil {
			t.Errorf("%s fits", text)
		}
	}
}
