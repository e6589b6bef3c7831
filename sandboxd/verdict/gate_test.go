package verdict_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/verdict"
)

// Ledger: SV-40, SV-42, IM-11, CN-19
func TestGate(t *testing.T) {
	t.Parallel()
	const post = `{"operation_id":"startEnvironmentSetupRun","method":"POST","path":"/v1/environments/env_1/setup_runs"}`
	const edit = `{"operation_id":"updateEnvironment","method":"PATCH","path":"/v1/environments/env_1"}`
	cases := []struct {
		history history
		image   image.State
		runner  string
		start   verdict.Start
		says    string
		next    string
	}{
		{"", "", "img_1", verdict.Refused, "has not been verified", post},
		{"A", "", "img_1", verdict.Refused, "still in flight", `{"operation_id":"getEnvironmentSetupRun","method":"GET","path":"/v1/environments/env_1/setup_runs/srun_A0"}`},
		{"F", "", "img_1", verdict.Refused, "script failed; correct it", edit},
		{"f", "", "img_1", verdict.Refused, "for another configuration", post},
		{"p", image.Usable, "img_1", verdict.Refused, "stale", post},
		{"pA", image.Usable, "img_1", verdict.Refused, "still in flight", `{"operation_id":"getEnvironmentSetupRun","method":"GET","path":"/v1/environments/env_1/setup_runs/srun_A1"}`},
		{"P", image.Missing, "img_1", verdict.Refused, "its image is missing", post},
		{"P", image.Failed, "img_1", verdict.Refused, "saving its image failed", post},
		{"P", image.Unknown, "img_1", verdict.Refused, "nobody knows", post},
		{"P", "", "img_1", verdict.Refused, "nobody knows", post},
		{"P", image.Usable, "img_1", verdict.FromImage, "", ""},
		{"PA", image.Usable, "img_1", verdict.FromImage, "", ""},
		{"PC", image.Usable, "img_1", verdict.FromImage, "", ""},
		{"P", image.Usable, "img_2", verdict.WithSetup, "", ""},
	}
	for _, c := range cases {
		v := verdict.Of(withScript, verdict.Recall(c.history.runs(environment.Fingerprint(withScript)), c.image))
		start, err := verdict.Gate("env_1", withScript, v, image.Image{RunnerID: "img_1"}, c.runner)
		if start != c.start || (err == nil) != (c.says == "") {
			t.Errorf("%q, image %q: %d, %v", c.history, c.image, start, err)
			continue
		}
		var e *fault.Error
		if err == nil || !errors.As(err, &e) {
			continue
		}
		next, _ := json.Marshal(e.Details["next_action"])
		if e.Code != fault.EnvironmentNotVerified || !strings.Contains(e.Message, c.says) || string(next) != c.next {
			t.Errorf("%q, image %q: %s %v next %s", c.history, c.image, e.Code, e, next)
		}
	}
	if start, err := verdict.Gate("env_1", environment.Definition{}, verdict.Verdict{}, image.Image{}, ""); err == nil || start != verdict.Refused {
		t.Errorf("the zero verdict starts a session: %d", start)
	}
	plain := environment.Definition{Name: "a", EnvVars: map[string]string{"HOME": "/x"}}
	if start, err := verdict.Gate("env_1", plain, verdict.Of(plain, verdict.History{}), image.Image{}, "img_1"); err != nil || start != verdict.Plain {
		t.Errorf("without a script: %d, %v", start, err)
	}
}

// Ledger: SV-42
func TestGateRefusesUnsafeVariablesInFallback(t *testing.T) {
	t.Parallel()
	d := withScript
	d.EnvVars = map[string]string{"LD_PRELOAD": "/x.so", "BASH_ENV": "/x", "FINE": "1"}
	v := verdict.Of(d, verdict.Recall(history("P").runs(environment.Fingerprint(d)), image.Usable))
	if start, err := verdict.Gate("env_1", d, v, image.Image{RunnerID: "img_1"}, "img_1"); err != nil || start != verdict.FromImage {
		t.Errorf("from the image: %d, %v", start, err)
	}
	_, err := verdict.Gate("env_1", d, v, image.Image{RunnerID: "img_1"}, "img_2")
	if fault.CodeOf(err) != fault.SetupFallbackUnsafe || !strings.Contains(err.Error(), "BASH_ENV, LD_PRELOAD") || strings.Contains(err.Error(), "FINE") {
		t.Errorf("in the fallback: %v", err)
	}
}
