package environment_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/fault"
)

const (
	open    = `{}`
	none    = `{"version":"v1","rules":[]}`
	custom  = `{"version":"v1","rules":[{"match":{"host_glob":"a.test"},"action":{"type":"allow"}}]}`
	inOrder = ` { "rules" : [ {"action":{"type":"allow"},"match":{"host_glob":"a.test"}} ], "version":"v1" } `
)

// Ledger: NP-30, NP-31, NP-32, NP-34
func TestAccessPrecondition(t *testing.T) {
	t.Parallel()
	expect := func(policy, privileged string) string {
		return `,"expected_access":{"network_policy":` + policy + `,"privileged":` + privileged + `}`
	}
	cases := []struct {
		name       string
		saved      string
		privileged string
		patch      string
		code       fault.Code
	}{
		{"default policy changes", none, `false`, `"network_policy":{}`, fault.PreconditionRequired},
		{"custom policy changes", custom, `false`, `"network_policy":` + none, fault.PreconditionRequired},
		{"null changes a custom policy", custom, `false`, `"network_policy":null`, fault.PreconditionRequired},
		{"null is the default again", none, `false`, `"network_policy":null`, ""},
		{"unrestricted policy changes", open, `false`, `"network_policy":` + custom, ""},
		{"same policy", custom, `false`, `"network_policy":` + inOrder, ""},
		{"privileged on", open, `false`, `"privileged":true`, fault.PreconditionRequired},
		{"privileged on, under a policy", custom, `false`, `"privileged":true`, fault.PreconditionRequired},
		{"privileged stays on", custom, `true`, `"privileged":true`, ""},
		{"privileged off", custom, `true`, `"privileged":false`, ""},
		{"privileged null", custom, `true`, `"privileged":null`, ""},
		{"something else", custom, `true`, `"name":"b"`, ""},
		{"expected, right", custom, `false`, `"network_policy":{}` + expect(custom, `false`), ""},
		{"expected, right in other words", custom, `false`, `"network_policy":{}` + expect(inOrder, `false`), ""},
		{"expected, wrong policy", custom, `false`, `"network_policy":{}` + expect(none, `false`), fault.PreconditionFailed},
		{"expected, wrong privileged", custom, `false`, `"network_policy":{}` + expect(custom, `true`), fault.PreconditionFailed},
		{"expected unrestricted of none", none, `false`, `"network_policy":{}` + expect(open, `false`), fault.PreconditionFailed},
		{"expected though not needed, right", open, `true`, `"name":"b"` + expect(open, `true`), ""},
		{"expected though not needed, wrong", open, `true`, `"name":"b"` + expect(none, `true`), fault.PreconditionFailed},
		{"both, right", none, `false`, `"privileged":true,"network_policy":{}` + expect(none, `false`), ""},
		{"null is left out", none, `false`, `"network_policy":{},"expected_access":null`, fault.PreconditionRequired},
	}
	for _, c := range cases {
		saved := create(t, `{"name":"a","provider":"runs","network_policy":`+c.saved+`,"privileged":`+c.privileged+`}`)
		_, _, err := environment.Update(saved, patch(t, "{"+c.patch+"}"), rules())
		if got := fault.CodeOf(err); got != c.code {
			t.Errorf("%s: %q (%v), want %q", c.name, got, err, c.code)
			continue
		}
		var e *fault.Error
		if c.code != fault.PreconditionFailed || !errors.As(err, &e) {
			continue
		}
		current, jsonErr := json.Marshal(e.Details["current"])
		if want := access(saved); jsonErr != nil || string(current) != want || e.Param != "expected_access" {
			t.Errorf("%s: current %s at %q, want %s", c.name, current, e.Param, want)
		}
	}
}

// Ledger: NP-31
func TestExpectedAccessIsWhole(t *testing.T) {
	t.Parallel()
	for body, where := range map[string]string{
		`{"privileged":false}`:                                   "expected_access.network_policy",
		`{"network_policy":{}}`:                                  "expected_access.privileged",
		`{"network_policy":null,"privileged":false}`:             "expected_access.network_policy",
		`{"network_policy":{},"privileged":null}`:                "expected_access.privileged",
		`{"network_policy":{},"privileged":0}`:                   "expected_access.privileged",
		`{"network_policy":{"rules":[]},"privileged":false}`:     "expected_access.network_policy.version",
		`{"network_policy":{},"privileged":false,"extra":1}`:     "expected_access.extra",
		`{"network_policy":{},"privileged":1,"privileged":true}`: "expected_access.privileged",
		`[]`: "expected_access",
		`{}`: "expected_access.network_policy",
	} {
		if _, err := environment.ParseUpdate([]byte(`{"expected_access":` + body + `}`)); param(err) != where {
			t.Errorf("%s: %v, want an error at %s", body, err, where)
		}
	}
}
