package api

import (
	"bytes"
	"context"
	"time"

	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/store"
	"github.com/sallyport/sallyport/sandboxd/strict"
)

const (
	runsPath = environmentPath + "/setup_runs"
	runPath  = runsPath + "/{setup_run_id}"
)

type startRunInput struct {
	EnvironmentParam
	Idempotent
}

type listRunsInput struct {
	EnvironmentParam
	After string `query:"after" doc:"next_after of the page before."`
	Limit int    `query:"limit" minimum:"1" maximum:"50" default:"50"`
}

// RunParams names a run in a path.
type RunParams struct {
	EnvironmentParam
	SetupRunID string `path:"setup_run_id"`
}

// WaitQuery asks to wait for news.
type WaitQuery struct {
	WaitSeconds int `query:"wait_seconds" minimum:"0" maximum:"60" doc:"How long to wait for news; the server waits at most 5 seconds."`
}

func (w WaitQuery) duration() time.Duration { return time.Duration(w.WaitSeconds) * time.Second }

type getRunInput struct {
	RunParams
	WaitQuery
}

type logInput struct {
	RunParams
	WaitQuery
	After int64 `query:"after" minimum:"0" default:"0" doc:"seq of the last line that you have."`
	Limit int   `query:"limit" minimum:"1" maximum:"2000" default:"500"`
}

func (a *API) setupRuns() {
	handle(a, operation{
		id: "startEnvironmentSetupRun", method: "POST", path: runsPath, status: 202,
		summary: "Start a manual setup run", about: "Runs the setup script on fresh compute, saves a reusable image and records a verdict. At most one per environment and four per organisation are in flight.",
	}, a.startRun)
	handle(a, operation{
		id: "listEnvironmentSetupRuns", method: "GET", path: runsPath, status: 200,
		summary: "List setup runs", about: "The newest first.",
	}, a.listRuns)
	handle(a, operation{
		id: "getEnvironmentSetupRun", method: "GET", path: runPath, status: 200, summary: "Get a setup run",
	}, a.getRun)
	handle(a, operation{
		id: "getEnvironmentSetupRunLog", method: "GET", path: runPath + "/log", status: 200, summary: "Get lines of a setup run's log",
	}, a.getRunLog)
	handle(a, operation{
		id: "cancelEnvironmentSetupRun", method: "POST", path: runPath + "/cancel", status: 200,
		summary: "Cancel a setup run", about: "Records no verdict.",
	}, a.cancelRun)
}

// empty reads the body of a call that takes none: nothing, or an object
// without members.
func empty(ctx context.Context) error {
	body := requestOf(ctx).body
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	return strict.Decode(body, &struct{}{})
}

func (a *API) startRun(ctx context.Context, c account.Caller, in *startRunInput) (*answer[SetupRun], error) {
	if err := empty(ctx); err != nil {
		return nil, err
	}
	again, err := retry(in.IdempotencyKey, "startEnvironmentSetupRun", c, []byte(in.EnvironmentID))
	if err != nil {
		return nil, err
	}
	run, err := a.service.StartEnvironmentSetupRun(ctx, c, in.EnvironmentID, again)
	return &answer[SetupRun]{runOf(run)}, err
}

func (a *API) listRuns(ctx context.Context, c account.Caller, in *listRunsInput) (*answer[page[SetupRun]], error) {
	found, err := a.service.ListEnvironmentSetupRuns(ctx, c, in.EnvironmentID, store.PageQuery{After: in.After, Limit: in.Limit})
	return pageOf(found, runOf), err
}

func (a *API) getRun(ctx context.Context, c account.Caller, in *getRunInput) (*answer[SetupRun], error) {
	run, err := a.service.GetEnvironmentSetupRun(ctx, c, in.EnvironmentID, in.SetupRunID, in.duration())
	return &answer[SetupRun]{runOf(run)}, err
}

func (a *API) getRunLog(ctx context.Context, c account.Caller, in *logInput) (*answer[SetupRunLog], error) {
	p, err := a.service.GetEnvironmentSetupRunLog(ctx, c, in.EnvironmentID, in.SetupRunID, in.After, in.Limit, in.duration())
	return &answer[SetupRunLog]{logOf(p)}, err
}

func (a *API) cancelRun(ctx context.Context, c account.Caller, in *RunParams) (*answer[SetupRun], error) {
	if err := empty(ctx); err != nil {
		return nil, err
	}
	run, err := a.service.CancelEnvironmentSetupRun(ctx, c, in.EnvironmentID, in.SetupRunID)
	return &answer[SetupRun]{runOf(run)}, err
}
