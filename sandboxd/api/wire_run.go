package api

import (
	"github.com/sallyport/sallyport/sandboxd/setup"
	"github.com/sallyport/sallyport/sandboxd/verdict"
)

// SetupRun is a setup run in an answer.
type SetupRun struct {
	SetupRunID    string `json:"setup_run_id"`
	EnvironmentID string `json:"environment_id"`
	Kind          string `json:"kind" enum:"manual,session"`
	SessionID     string `json:"session_id,omitempty"`
	Status        string `json:"status" enum:"queued,provisioning,running,succeeded,failed,cancelled"`
	Phase         string `json:"phase,omitempty" enum:"provision,gpu_check,setup,profile,commit,cleanup"`
	Outcome
	FailureCode  string          `json:"failure_code,omitempty"`
	NextAction   *verdict.Action `json:"next_action,omitempty" doc:"The call to make next."`
	RequestedBy  string          `json:"requested_by_user_id,omitempty"`
	CreatedAt    instant         `json:"created_at"`
	StartedAt    instant         `json:"started_at,omitzero"`
	FinishedAt   instant         `json:"finished_at,omitzero"`
	LogLines     int64           `json:"log_lines"`
	LogBytes     int64           `json:"log_bytes"`
	LogTruncated bool            `json:"log_truncated"`
}

// Outcome is what a run says of its end, here and in a verification.
type Outcome struct {
	ExitCode      *int   `json:"exit_code,omitempty" doc:"Of the script; 124: it timed out. Absent when it never started."`
	FailedLine    *int   `json:"failed_line,omitempty" doc:"One-based; 0: unknown."`
	FailedCommand string `json:"failed_command,omitempty" doc:"That line as written."`
	StderrTail    string `json:"stderr_tail,omitempty"`
	HintCode      string `json:"hint_code,omitempty"`
	Hint          string `json:"hint,omitempty"`
	Message       string `json:"message,omitempty"`
	DurationMS    *int64 `json:"duration_ms,omitempty"`
}

// outcomeOf leaves out what isn't known yet. Only a failure of the script has a
// line.
func outcomeOf(r setup.Run) Outcome {
	o := Outcome{
		ExitCode: r.ExitCode, FailedCommand: r.FailedCommand, StderrTail: r.StderrTail,
		HintCode: r.HintCode, Hint: r.Hint, Message: r.Message,
	}
	if r.Status == setup.Failed && r.Phase == setup.Script {
		o.FailedLine = &r.FailedLine
	}
	if r.Status.Terminal() {
		begin := r.StartedAt
		if begin.IsZero() {
			begin = r.CreatedAt
		}
		ms := r.FinishedAt.Sub(begin).Milliseconds()
		o.DurationMS = &ms
	}
	return o
}

func runOf(r setup.Run) SetupRun {
	return SetupRun{
		SetupRunID: r.ID, EnvironmentID: r.EnvironmentID, Kind: string(r.Kind), SessionID: r.SessionID,
		Status: string(r.Status), Phase: string(r.Phase), Outcome: outcomeOf(r),
		FailureCode: r.FailureCode, NextAction: nextAction(r), RequestedBy: r.RequestedBy,
		CreatedAt: at(r.CreatedAt), StartedAt: at(r.StartedAt), FinishedAt: at(r.FinishedAt),
		LogLines: r.LogLines, LogBytes: r.LogBytes, LogTruncated: r.LogTruncated,
	}
}

// nextAction is the sensible call after what a run says (ledger SV-15).
func nextAction(r setup.Run) *verdict.Action {
	environment := environmentsPath + "/" + r.EnvironmentID
	switch {
	case !r.Status.Terminal():
		return &verdict.Action{OperationID: "getEnvironmentSetupRun", Method: "GET", Path: environment + "/setup_runs/" + r.ID}
	case r.Kind == setup.Session:
		return nil
	case r.Status == setup.Failed:
		return &verdict.Action{OperationID: "updateEnvironment", Method: "PATCH", Path: environment}
	case r.Status == setup.Succeeded && r.ImageID != "":
		return &verdict.Action{OperationID: "startSession", Method: "POST", Path: "/v1/sessions"}
	}
	return &verdict.Action{OperationID: "startEnvironmentSetupRun", Method: "POST", Path: environment + "/setup_runs"}
}

// SetupRunLog is a part of a run's log.
type SetupRunLog struct {
	Lines     []logLine `json:"lines" nullable:"false"`
	NextAfter int64     `json:"next_after" doc:"The after of the next call."`
	Status    string    `json:"status" enum:"queued,provisioning,running,succeeded,failed,cancelled"`
	Truncated bool      `json:"truncated" doc:"Output passed 4 MiB; the beginning is kept."`
}

type logLine struct {
	Seq    int64   `json:"seq"`
	Stream string  `json:"stream" enum:"stdout,stderr,marker,system"`
	Line   int     `json:"line,omitempty" doc:"One-based line of the script, when known."`
	Text   string  `json:"text"`
	At     instant `json:"at"`
}

func logOf(p setup.Page) SetupRunLog {
	out := SetupRunLog{Lines: []logLine{}, NextAfter: p.NextAfter, Status: string(p.Status), Truncated: p.Truncated}
	for _, l := range p.Lines {
		out.Lines = append(out.Lines, logLine{l.Seq, string(l.Stream), l.Line, l.Text, at(l.At)})
	}
	return out
}
