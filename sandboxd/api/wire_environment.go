package api

import (
	"reflect"

	"github.com/sallyport/sallyport/sandboxd"
	"github.com/sallyport/sallyport/sandboxd/verdict"
)

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// Environment is an environment in an answer.
type Environment struct {
	OrganizationID string `json:"organization_id"`
	EnvironmentID  string `json:"environment_id"`
	Scope          string `json:"scope" enum:"organization"`
	Definition
	HTTPPort       int          `json:"http_port,omitempty" doc:"Of the browser display, when computer_use is on."`
	Verification   verification `json:"setup_verification"`
	Warnings       []warning    `json:"setup_warnings" nullable:"false"`
	SetupUpdatedAt instant      `json:"setup_updated_at,omitzero"`
	SetupUpdatedBy string       `json:"setup_updated_by_user_id,omitempty"`
	CreatedAt      instant      `json:"created_at"`
	UpdatedAt      instant      `json:"updated_at"`
}

// displayPort is http_port of an environment with a browser display.
const displayPort = 6901

type warning struct {
	Code    string `json:"code"`
	Line    int    `json:"line" doc:"One-based; 0 when it is about the save."`
	Message string `json:"message"`
}

type verification struct {
	Status           string   `json:"status" enum:"not_applicable,never,running,verified,failed"`
	Stale            bool     `json:"stale" doc:"A setting that affects setup changed after the recorded run."`
	Label            string   `json:"label" doc:"What consoles show."`
	SetupRunID       string   `json:"setup_run_id,omitempty" doc:"The run that the verdict is from."`
	ActiveSetupRunID string   `json:"active_setup_run_id,omitempty" doc:"The manual run in flight."`
	At               instant  `json:"at,omitzero" doc:"When the recorded run finished."`
	VerifiedBy       string   `json:"verified_by_user_id,omitempty"`
	Fingerprint      string   `json:"fingerprint,omitempty" doc:"Of the configuration that the run tested; compare for equality only."`
	Image            string   `json:"image,omitempty" enum:"usable,missing,failed,unknown" doc:"Of the reusable image that the recorded run saved."`
	LastRun          *lastRun `json:"last_run,omitempty"`
}

// lastRun sums up the latest run that ended.
type lastRun struct {
	SetupRunID string `json:"setup_run_id"`
	Status     string `json:"status" enum:"succeeded,failed,cancelled"`
	Phase      string `json:"phase,omitempty" enum:"provision,gpu_check,setup,profile,commit,cleanup"`
	Outcome
}

func environmentOf(e sandboxd.Environment) Environment {
	out := Environment{
		OrganizationID: e.Saved.OrganizationID,
		EnvironmentID:  e.Saved.ID,
		Scope:          "organization",
		Definition:     definitionOf(e.Saved.Definition),
		Verification:   verificationOf(e.Verdict),
		Warnings:       []warning{},
		SetupUpdatedAt: at(e.Saved.SetupUpdatedAt),
		SetupUpdatedBy: e.Saved.SetupUpdatedBy,
		CreatedAt:      at(e.Saved.CreatedAt),
		UpdatedAt:      at(e.Saved.UpdatedAt),
	}
	if e.Saved.Definition.ComputerUse {
		out.HTTPPort = displayPort
	}
	for _, w := range e.Saved.Warnings {
		out.Warnings = append(out.Warnings, warning{w.Code, w.Line, w.Message})
	}
	return out
}

func verificationOf(v verdict.Verdict) verification {
	out := verification{
		Status: string(v.Status), Stale: v.Stale, Label: v.Label(),
		SetupRunID: v.RunID, ActiveSetupRunID: v.ActiveRunID, At: at(v.At),
		VerifiedBy: v.VerifiedBy, Fingerprint: v.Fingerprint, Image: string(v.Image),
	}
	if r := v.LastRun; r != nil {
		out.LastRun = &lastRun{SetupRunID: r.ID, Status: string(r.Status), Phase: string(r.Phase), Outcome: outcomeOf(*r)}
	}
	return out
}
