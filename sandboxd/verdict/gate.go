package verdict

import (
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/image"
)

// Start is how a session's sandbox begins. The zero value is no start.
type Start uint8

// The ways.
const (
	Refused   Start = iota
	Plain           // from the runner image: there is no script
	FromImage       // from the image that the recorded run captured
	WithSetup       // from the runner image, with a setup run of its own
)

// Action is the call that a caller makes next.
type Action struct {
	OperationID string `json:"operation_id"`
	Method      string `json:"method"`
	Path        string `json:"path"`
}

// Gate says how a session of an environment starts, or refuses with a
// *fault.Error (ledger SV-40, SV-42): EnvironmentNotVerified, with the reason
// in its message and details.next_action, or SetupFallbackUnsafe, naming the
// variables.
//
// captured is the image of the verdict's run, and runnerID the image that a
// new sandbox would be made from now. When the captured image was made on
// another one it can't be used, and the session sets up by itself.
func Gate(environmentID string, d environment.Definition, v Verdict, captured image.Image, runnerID string) (Start, error) {
	if v.Status == NotApplicable {
		return Plain, nil
	}
	if err := v.verified(environmentID); err != nil {
		return Refused, err
	}
	if captured.RunnerID == runnerID {
		return FromImage, nil
	}
	if names := environment.UnsafeVariables(d.EnvVars); len(names) > 0 {
		e := fault.New(fault.SetupFallbackUnsafe,
			"the runner image changed since the setup image was captured, so this session would run setup on its own compute, where these env_vars run code at start: %s; remove them, or run setup again to capture a new image",
			strings.Join(names, ", "))
		e.Param = "env_vars"
		e.Details = map[string]any{"variables": names, "next_action": startRun(environmentID)}
		return Refused, e
	}
	return WithSetup, nil
}

// verified returns why a session can't start, or nil.
func (v Verdict) verified(environmentID string) error {
	next := startRun(environmentID)
	var reason string
	switch {
	case v.Status == Running:
		reason = "its setup run is still in flight"
		next = Action{"getEnvironmentSetupRun", "GET", environmentPath(environmentID) + "/setup_runs/" + v.ActiveRunID}
	case v.Status == Never:
		reason = "its setup script has not been verified"
	case v.Status == Failed && !v.Stale:
		reason = "its setup script failed; correct it, then verify again"
		next = Action{"updateEnvironment", "PATCH", environmentPath(environmentID)}
	case v.Status == Failed:
		reason = "its setup script failed, for another configuration than the present one; run setup again"
	case v.Status != Verified:
		reason = "it has no verdict"
	case v.Stale:
		reason = "its configuration changed after the setup script passed, so the verdict is stale; run setup again"
	case v.Image == image.Usable:
		return nil
	case v.Image == image.Missing:
		reason = "the setup script passed, but its image is missing; run setup again to capture one"
	case v.Image == image.Failed:
		reason = "the setup script passed, but saving its image failed; run setup again to capture one"
	default:
		reason = "the setup script passed, but nobody knows whether its image can be used; run setup again to capture one"
	}
	e := fault.New(fault.EnvironmentNotVerified, "a session can't start from this environment: %s", reason)
	e.Details = map[string]any{"status": string(v.Status), "stale": v.Stale, "next_action": next}
	return e
}

func startRun(environmentID string) Action {
	return Action{"startEnvironmentSetupRun", "POST", environmentPath(environmentID) + "/setup_runs"}
}

func environmentPath(id string) string { return fmt.Sprintf("/v1/environments/%s", id) }
