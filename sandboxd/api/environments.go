package api

import (
	"context"
	"strconv"

	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/store"
)

const (
	environmentsPath = "/v1/environments"
	environmentPath  = environmentsPath + "/{environment_id}"
)

// page is a part of a list, the newest first.
type page[T any] struct {
	Data      []T     `json:"data" nullable:"false"`
	NextAfter *string `json:"next_after" doc:"The after of the next page; null: this is the last."`
}

func pageOf[A, B any](p store.Page[A], convert func(A) B) *answer[page[B]] {
	out := &answer[page[B]]{page[B]{Data: make([]B, len(p.Items))}}
	for i, item := range p.Items {
		out.Body.Data[i] = convert(item)
	}
	if p.Next != "" {
		out.Body.NextAfter = &p.Next
	}
	return out
}

// tagged is an answer with one environment.
type tagged struct {
	ETag string `header:"ETag" doc:"Of the environment's settings, for If-Match."`
	Body Environment
}

// What several requests have in common is exported because huma, v2.37, skips
// the fields of other embedded types.

// VerifyQuery asks for a setup run with a save.
type VerifyQuery struct {
	Verify bool `query:"verify" doc:"Start a manual setup run after the save. Ignored without a script."`
}

// Idempotent is a request that can be sent again.
type Idempotent struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"The same key with the same request within 24 hours returns the first result."`
}

// Conditional is a request that depends on what is saved.
type Conditional struct {
	IfMatch string `header:"If-Match" doc:"Only if the environment still has this ETag."`
}

// EnvironmentParam names an environment in a path.
type EnvironmentParam struct {
	EnvironmentID string `path:"environment_id"`
}

type createInput struct {
	VerifyQuery
	Idempotent
}

type listInput struct {
	After      string `query:"after" doc:"next_after of the page before."`
	Limit      int    `query:"limit" minimum:"1" maximum:"100" default:"50"`
	NamePrefix string `query:"name_prefix" doc:"Only environments whose name begins so."`
}

type updateInput struct {
	EnvironmentParam
	VerifyQuery
	Conditional
}

type deleteInput struct {
	EnvironmentParam
	Conditional
}

func (a *API) environments() {
	handle(a, operation{
		id: "createEnvironment", method: "POST", path: environmentsPath, status: 201, body: createEnvironment{},
		summary: "Create an environment", about: "No compute starts, unless verify starts a setup run.",
	}, a.createEnvironment)
	handle(a, operation{
		id: "listEnvironments", method: "GET", path: environmentsPath, status: 200,
		summary: "List environments", about: "The newest first.",
	}, a.listEnvironments)
	handle(a, operation{
		id: "getEnvironment", method: "GET", path: environmentPath, status: 200, summary: "Get an environment",
	}, a.getEnvironment)
	handle(a, operation{
		id: "updateEnvironment", method: "PATCH", path: environmentPath, status: 200, body: updateEnvironment{},
		summary: "Change an environment",
		about:   "What is left out stays, null sets what a new environment has, a value replaces the whole setting. The change applies to sandboxes that start afterwards.",
	}, a.updateEnvironment)
	handle(a, operation{
		id: "deleteEnvironment", method: "DELETE", path: environmentPath, status: 204,
		summary: "Delete an environment", about: "A manual setup run in flight is cancelled; running sessions keep their sandbox. There is no restore.",
	}, a.deleteEnvironment)
}

func (a *API) createEnvironment(ctx context.Context, c account.Caller, in *createInput) (*tagged, error) {
	body := requestOf(ctx).body
	patch, err := environment.ParseCreate(body)
	if err != nil {
		return nil, err
	}
	again, err := retry(in.IdempotencyKey, "createEnvironment", c, []byte(strconv.FormatBool(in.Verify)), body)
	if err != nil {
		return nil, err
	}
	made, err := a.service.CreateEnvironment(ctx, c, patch, in.Verify, again)
	return &tagged{etag(made.Saved.Revision), environmentOf(made)}, err
}

func (a *API) listEnvironments(ctx context.Context, c account.Caller, in *listInput) (*answer[page[Environment]], error) {
	found, err := a.service.ListEnvironments(ctx, c, store.EnvironmentQuery{
		NamePrefix: in.NamePrefix, PageQuery: store.PageQuery{After: in.After, Limit: in.Limit},
	})
	return pageOf(found, environmentOf), err
}

func (a *API) getEnvironment(ctx context.Context, c account.Caller, in *EnvironmentParam) (*tagged, error) {
	e, err := a.service.GetEnvironment(ctx, c, in.EnvironmentID)
	return &tagged{etag(e.Saved.Revision), environmentOf(e)}, err
}

func (a *API) updateEnvironment(ctx context.Context, c account.Caller, in *updateInput) (*tagged, error) {
	patch, err := environment.ParseUpdate(requestOf(ctx).body)
	if err != nil {
		return nil, err
	}
	only, err := condition(in.IfMatch)
	if err != nil {
		return nil, err
	}
	e, err := a.service.UpdateEnvironment(ctx, c, in.EnvironmentID, patch, only, in.Verify)
	return &tagged{etag(e.Saved.Revision), environmentOf(e)}, err
}

func (a *API) deleteEnvironment(ctx context.Context, c account.Caller, in *deleteInput) (*none, error) {
	only, err := condition(in.IfMatch)
	if err != nil {
		return nil, err
	}
	return &none{}, a.service.DeleteEnvironment(ctx, c, in.EnvironmentID, only)
}
