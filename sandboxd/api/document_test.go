package api_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sallyport/sallyport/sandboxd/setup"
)

// operations are those of the ledger's table that this API has, and then our
// own.
// Ledger: AP-8, NP-48
var operations = map[string]string{
	"createEnvironment":             "POST /v1/environments",
	"listEnvironments":              "GET /v1/environments",
	"getEnvironment":                "GET /v1/environments/{environment_id}",
	"updateEnvironment":             "PATCH /v1/environments/{environment_id}",
	"deleteEnvironment":             "DELETE /v1/environments/{environment_id}",
	"listSandboxProviders":          "GET /v1/sandbox_providers",
	"listEnvironmentSetupTemplates": "GET /v1/environment_setup_templates",
	"startEnvironmentSetupRun":      "POST /v1/environments/{environment_id}/setup_runs",
	"listEnvironmentSetupRuns":      "GET /v1/environments/{environment_id}/setup_runs",
	"getEnvironmentSetupRun":        "GET /v1/environments/{environment_id}/setup_runs/{setup_run_id}",
	"getEnvironmentSetupRunLog":     "GET /v1/environments/{environment_id}/setup_runs/{setup_run_id}/log",
	"cancelEnvironmentSetupRun":     "POST /v1/environments/{environment_id}/setup_runs/{setup_run_id}/cancel",
	"evaluateNetworkPolicy":         "POST /v1/network_policies:evaluate",

	"explainNetworkPolicy":   "POST /v1/network_policies:explain",
	"lintNetworkPolicy":      "POST /v1/network_policies:lint",
	"diffNetworkPolicies":    "POST /v1/network_policies:diff",
	"compareNetworkPolicies": "POST /v1/network_policies:equal",
	"createAPIKey":           "POST /v1/api_keys",
	"listAPIKeys":            "GET /v1/api_keys",
	"revokeAPIKey":           "DELETE /v1/api_keys/{key_id}",
}

// document is the served one.
func (s *service) document(t *testing.T) map[string]any {
	t.Helper()
	return s.call(t, "GET", "/v1/openapi.json", "").JSON
}

func TestDocumentHasTheOperations(t *testing.T) {
	t.Parallel()
	s := start(t)
	doc := s.document(t)
	if v := doc["openapi"]; v != "3.1.0" {
		t.Errorf("version %v", v)
	}
	got := map[string]string{}
	for path, item := range doc["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			got[op.(map[string]any)["operationId"].(string)] = strings.ToUpper(method) + " " + path
		}
	}
	if !maps.Equal(got, operations) {
		t.Errorf("the document has\n%q, wanted\n%q", got, operations)
	}
}

// The bodies that the document describes have the members that are read.
func TestDocumentHasTheFields(t *testing.T) {
	t.Parallel()
	s := start(t)
	var want []string
	for _, f := range fields {
		want = append(want, f.name)
	}
	schemas := s.document(t)["components"].(map[string]any)["schemas"].(map[string]any)
	for name, more := range map[string][]string{"CreateEnvironment": nil, "UpdateEnvironment": {"expected_access"}, "Environment": serviceSet} {
		got := slices.Sorted(maps.Keys(schemas[name].(map[string]any)["properties"].(map[string]any)))
		if all := slices.Sorted(slices.Values(append(slices.Clone(want), more...))); !slices.Equal(got, all) {
			t.Errorf("%s has\n%q, wanted\n%q", name, got, all)
		}
	}
}

// What is answered fits its schema, and so does what is sent.
// Ledger: AP-9
func TestAnswersFitTheDocument(t *testing.T) {
	t.Parallel()
	s := start(t)
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openapi.json", s.document(t)); err != nil {
		t.Fatal(err)
	}
	fits := func(schema, text string) {
		t.Helper()
		compiled, err := compiler.Compile("openapi.json#/components/schemas/" + schema)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v\n%s", schema, err, text)
		}
	}
	full := `{"name":"a","provider":"runs","description":"d","resources":{"accelerator":{"name":"l4"}},"pvc_size_gi":7,
		"setup":{"script":"curl https://x.test | sh"},"network_policy":` + npmOnly + `,"privileged":true,"computer_use":true,
		"idle_stop_after_seconds":600,"stopped_delete_after_seconds":7200,"env_vars":{"A":"1"},"mounts":[{"source":"https://x.test/a","mount_path":"a"}],
		"metadata":{"a":[1.50]},"steps":["RUN true"],"boot_setup":[{"name":"b","commands":["true"],"cache":{"paths":["/home/user/x"],"files":["go.sum"]}}]}`
	fits("CreateEnvironment", full)
	nulls := `{"description":null,"resources":null,"pvc_size_gi":null,"setup":null,"network_policy":null,"privileged":null,"computer_use":null,
		"idle_stop_after_seconds":null,"stopped_delete_after_seconds":null,"mounts":null,"image":null,"steps":null,"boot_setup":null}`
	fits("UpdateEnvironment", nulls)
	path, made := s.create(t, full)
	fits("Environment", made.Text)
	run := s.call(t, "POST", path+"/setup_runs", "")
	fits("SetupRun", run.Text)
	code := 7
	s.end(t, run.text("setup_run_id"), "failed", func(r *setup.Run) {
		r.Phase, r.ExitCode, r.FailedLine, r.LogLines = "setup", &code, 1, 2
	})
	for path, schema := range map[string]string{
		path: "Environment", "/v1/environments": "PageEnvironment", path + "/setup_runs": "PageSetupRun",
		path + "/setup_runs/" + run.text("setup_run_id"): "SetupRun", path + "/setup_runs/" + run.text("setup_run_id") + "/log": "SetupRunLog",
		"/v1/sandbox_providers": "AllSandboxProvider", "/v1/environment_setup_templates": "AllSetupTemplate", "/v1/api_keys": "PageAPIKey", "/v1/environments/x": "Error",
	} {
		fits(schema, s.call(t, "GET", path, "").Text)
	}
	for call, schema := range map[string][2]string{
		"evaluate": {`{"network_policy":` + npmOnly + `,"hosts":["npm.example.com","a b"]}`, "AllHostDecision"},
		"explain":  {`{"network_policy":` + npmOnly + `,"host":"b.test"}`, "HostDecision"},
		"lint":     {`{"network_policy":{"version":"v1","rules":[{"match":{"host_glob":"*.com"},"action":{"type":"allow"}}]}}`, "AllFinding"},
		"diff":     {`{"old":` + npmOnly + `,"new":{}}`, "PolicyDiff"},
		"equal":    {`{"old":` + npmOnly + `,"new":{}}`, "PolicyEquality"},
	} {
		r := s.call(t, "POST", "/v1/network_policies:"+call, schema[0])
		r.expect(t, call, 200, "")
		fits(schema[1], r.Text)
	}
	var b strings.Builder
	if err := json.NewEncoder(&b).Encode(made.JSON["metadata"]); err != nil || strings.TrimSpace(b.String()) != `{"a":[1.5]}` || !strings.Contains(made.Text, "1.50") {
		t.Errorf("metadata: %s", made.Text)
	}
}
