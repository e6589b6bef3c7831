package verdict_test

import (
	"testing"
	"time"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/setup"
	"github.com/sallyport/sallyport/sandboxd/verdict"
)

// history is a run of an environment's life in one line: each letter is an
// event, upper case for the present configuration and lower case for another.
//
//	P, p  a manual run passed      F, f  a manual run failed
//	C, c  a manual run was cancelled
//	S, s  a run of a session passed      X, x  one failed
//	A, a  a manual run is in flight
type history string

func (h history) runs(fingerprint string) []setup.Run {
	var runs []setup.Run
	for i, event := range h {
		r := setup.Run{
			ID: "srun_" + string(event) + string(rune('0'+i)), Kind: setup.Manual, Fingerprint: fingerprint,
			RequestedBy: "usr_" + string(event), CreatedAt: time.Unix(int64(i), 0), FinishedAt: time.Unix(int64(i), 500),
		}
		if event >= 'a' {
			r.Fingerprint = "fp_other"
			event -= 'a' - 'A'
		}
		switch event {
		case 'P':
			r.Status = setup.Succeeded
		case 'F':
			r.Status = setup.Failed
		case 'C':
			r.Status = setup.Cancelled
		case 'S':
			r.Status, r.Kind, r.RequestedBy = setup.Succeeded, setup.Session, ""
		case 'X':
			r.Status, r.Kind, r.RequestedBy = setup.Failed, setup.Session, ""
		case 'A':
			r.Status, r.FinishedAt = setup.Running, time.Time{}
		}
		runs = append([]setup.Run{r}, runs...) // newest first, as stores list them
	}
	return runs
}

var withScript = environment.Normalise(environment.Definition{Name: "a", Provider: "runs", Setup: environment.Setup{Script: "true"}})

// Ledger: SV-32, SV-33, SV-34, SV-37, SV-38, SV-39, SV-41, CN-9, CN-10, CN-11
func TestVerdicts(t *testing.T) {
	t.Parallel()
	cases := []struct {
		history history
		image   image.State
		status  verdict.Status
		stale   bool
		run     string // that the verdict is from
		last    string // that ended last
		active  string
		label   string
	}{
		{"", image.Unknown, verdict.Never, false, "", "", "", "Not verified"},
		{"A", image.Unknown, verdict.Running, false, "", "", "srun_A0", "Testing"},
		{"a", image.Unknown, verdict.Running, false, "", "", "srun_a0", "Testing"},
		{"C", image.Unknown, verdict.Never, false, "", "srun_C0", "", "Not verified"},
		{"CA", image.Unknown, verdict.Running, false, "", "srun_C0", "srun_A1", "Testing"},
		{"S", image.Usable, verdict.Never, false, "", "", "", "Not verified"},
		{"X", image.Unknown, verdict.Never, false, "", "", "", "Not verified"},

		{"P", image.Usable, verdict.Verified, false, "srun_P0", "srun_P0", "", "Verified"},
		{"P", image.Missing, verdict.Verified, false, "srun_P0", "srun_P0", "", "Image missing"},
		{"P", image.Failed, verdict.Verified, false, "srun_P0", "srun_P0", "", "Image failed"},
		{"P", image.Unknown, verdict.Verified, false, "srun_P0", "srun_P0", "", "Check image"},
		{"P", "", verdict.Verified, false, "srun_P0", "srun_P0", "", "Check image"},
		{"p", image.Usable, verdict.Verified, true, "srun_p0", "srun_p0", "", "Stale"},
		{"PA", image.Usable, verdict.Verified, false, "srun_P0", "srun_P0", "srun_A1", "Re-testing"},
		{"PA", image.Missing, verdict.Verified, false, "srun_P0", "srun_P0", "srun_A1", "Re-testing"},
		{"pA", image.Usable, verdict.Running, true, "srun_p0", "srun_p0", "srun_A1", "Testing"},
		{"PC", image.Usable, verdict.Verified, false, "srun_P0", "srun_C1", "", "Verified"},
		{"pC", image.Usable, verdict.Verified, true, "srun_p0", "srun_C1", "", "Stale"},
		{"PX", image.Usable, verdict.Verified, false, "srun_P0", "srun_P0", "", "Verified"},

		{"F", image.Unknown, verdict.Failed, false, "srun_F0", "srun_F0", "", "Failed"},
		{"f", image.Unknown, verdict.Failed, true, "srun_f0", "srun_f0", "", "Failed"},
		{"PF", image.Unknown, verdict.Failed, false, "srun_F1", "srun_F1", "", "Failed"},
		{"Pf", image.Unknown, verdict.Failed, true, "srun_f1", "srun_f1", "", "Failed"},
		{"FA", image.Unknown, verdict.Running, false, "srun_F0", "srun_F0", "srun_A1", "Testing"},
		{"fA", image.Unknown, verdict.Running, true, "srun_f0", "srun_f0", "srun_A1", "Testing"},
		{"FC", image.Unknown, verdict.Failed, false, "srun_F0", "srun_C1", "", "Failed"},
		{"FS", image.Unknown, verdict.Failed, false, "srun_F0", "srun_F0", "", "Failed"},
		{"FP", image.Usable, verdict.Verified, false, "srun_P1", "srun_P1", "", "Verified"},
		{"PFCA", image.Unknown, verdict.Running, false, "srun_F1", "srun_C2", "srun_A3", "Testing"},
	}
	for _, c := range cases {
		v := verdict.Of(withScript, verdict.Recall(c.history.runs(environment.Fingerprint(withScript)), c.image))
		last := ""
		if v.LastRun != nil {
			last = v.LastRun.ID
		}
		if v.Status != c.status || v.Stale != c.stale || v.RunID != c.run || last != c.last || v.ActiveRunID != c.active || v.Label() != c.label {
			t.Errorf("%q, image %q: %s stale=%v run=%s last=%s active=%s %q", c.history, c.image, v.Status, v.Stale, v.RunID, last, v.ActiveRunID, v.Label())
		}
		if recorded := v.RunID != ""; recorded == v.At.IsZero() || recorded != (v.VerifiedBy != "") || recorded != (v.Fingerprint != "") {
			t.Errorf("%q: at %v, by %q, fingerprint %q", c.history, v.At, v.VerifiedBy, v.Fingerprint)
		}
	}
}

// Without a script nothing of what was before is told, and a verdict comes
// back with the script that it is about.
//
// Ledger: SV-32, SV-34, CN-9
func TestScriptRemovedAndBroughtBack(t *testing.T) {
	t.Parallel()
	runs := history("P").runs(environment.Fingerprint(withScript))
	without := withScript
	without.Setup = environment.Setup{}
	v := verdict.Of(without, verdict.Recall(runs, image.Usable))
	if v.Status != verdict.NotApplicable || v.Stale || v.RunID != "" || v.LastRun != nil || v.Label() != "No setup" {
		t.Errorf("without a script: %+v", v)
	}
	active := verdict.Of(without, verdict.Recall(history("A").runs(""), image.Unknown))
	if active.Status != verdict.NotApplicable || active.ActiveRunID != "srun_A0" {
		t.Errorf("a run in flight: %+v", active)
	}
	changed := withScript
	changed.Setup.TimeoutSeconds = 10
	if v := verdict.Of(changed, verdict.Recall(runs, image.Usable)); v.Status != verdict.Verified || !v.Stale {
		t.Errorf("changed: %+v", v)
	}
	if v := verdict.Of(withScript, verdict.Recall(runs, image.Usable)); v.Stale {
		t.Errorf("reverted: %+v", v)
	}
	var zero verdict.Verdict
	if zero.Label() != "Not verified" {
		t.Errorf("the zero verdict is %q", zero.Label())
	}
}
