package verdict

import (
	"time"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/setup"
)

// Status of a setup script.
type Status string

// The statuses.
const (
	NotApplicable Status = "not_applicable" // there is no script
	Never         Status = "never"          // no run has recorded a verdict
	Running       Status = "running"        // a run is in flight, and the present configuration hasn't passed
	Verified      Status = "verified"       // the latest recorded run passed
	Failed        Status = "failed"         // the latest recorded run failed
)

// History is what is known of an environment's runs. Runs of sessions play no
// part in it. Every member may be nil.
type History struct {
	Recorded *setup.Run  // the latest manual run that succeeded or failed
	Ended    *setup.Run  // the latest manual run that ended, cancelled ones included
	Active   *setup.Run  // the manual run in flight
	Image    image.State // of the image that Recorded captured
}

// Recall picks an environment's history out of its runs, in any order. A store
// that can ask for the three runs need not call it.
func Recall(runs []setup.Run, state image.State) History {
	h := History{Image: state}
	for i := range runs {
		r := &runs[i]
		if r.Kind != setup.Manual {
			continue
		}
		if !r.Status.Terminal() {
			h.Active = later(h.Active, r, createdAt)
			continue
		}
		h.Ended = later(h.Ended, r, finishedAt)
		if r.Status != setup.Cancelled {
			h.Recorded = later(h.Recorded, r, finishedAt)
		}
	}
	return h
}

func createdAt(r *setup.Run) time.Time  { return r.CreatedAt }
func finishedAt(r *setup.Run) time.Time { return r.FinishedAt }

func later(a, b *setup.Run, at func(*setup.Run) time.Time) *setup.Run {
	if a == nil || at(b).After(at(a)) {
		return b
	}
	return a
}

// A Verdict is what the recorded runs say about the present configuration
// (ledger SV-32 to SV-41). The zero value is of no environment and starts
// nothing.
type Verdict struct {
	Status Status
	// Stale says that the configuration is not the one that the recorded run
	// tested.
	Stale bool
	// RunID, At, VerifiedBy and Fingerprint are the recorded run's: empty when
	// there is none.
	RunID       string
	At          time.Time
	VerifiedBy  string
	Fingerprint string
	// ActiveRunID is the manual run in flight, or empty.
	ActiveRunID string
	// LastRun is the latest manual run that ended; it can be another than the
	// recorded one, for cancelled runs record no verdict. Nil: none has.
	LastRun *setup.Run
	// Image is the state of the image that the recorded run captured.
	Image image.State
}

// Of returns the verdict on a normalised definition.
func Of(d environment.Definition, h History) Verdict {
	v := Verdict{Status: Never}
	if h.Active != nil {
		v.ActiveRunID = h.Active.ID
	}
	if d.Setup.Script == "" {
		v.Status = NotApplicable
		return v
	}
	v.LastRun = h.Ended
	if r := h.Recorded; r != nil {
		v.Status = Failed
		if r.Status == setup.Succeeded {
			v.Status = Verified
			v.Image = h.Image
		}
		v.RunID, v.At, v.VerifiedBy, v.Fingerprint = r.ID, r.FinishedAt, r.RequestedBy, r.Fingerprint
		v.Stale = r.Fingerprint != environment.Fingerprint(d)
	}
	if h.Active != nil && (v.Status != Verified || v.Stale) {
		v.Status = Running
	}
	return v
}

// Label is what people are shown (ledger SV-41). A verdict without a script has
// the label "No setup"; lists show a dash for it.
func (v Verdict) Label() string {
	switch v.Status {
	case NotApplicable:
		return "No setup"
	case Never:
		return "Not verified"
	case Running:
		return "Testing"
	case Failed:
		return "Failed"
	case Verified:
		return v.verifiedLabel()
	}
	return "Not verified"
}

func (v Verdict) verifiedLabel() string {
	if v.Stale {
		return "Stale"
	}
	if v.ActiveRunID != "" {
		return "Re-testing"
	}
	switch v.Image {
	case image.Usable:
		return "Verified"
	case image.Missing:
		return "Image missing"
	case image.Failed:
		return "Image failed"
	case image.Unknown:
	}
	return "Check image"
}
