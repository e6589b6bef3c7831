package api

import (
	"context"
	"time"

	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/store"
	"github.com/sallyport/sallyport/sandboxd/strict"
)

// APIKey is a key in an answer. Key is there once, when it is made.
type APIKey struct {
	KeyID     string  `json:"key_id"`
	UserID    string  `json:"user_id"`
	Name      string  `json:"name,omitempty"`
	Role      string  `json:"role" enum:"viewer,member,admin"`
	Key       string  `json:"key,omitempty" doc:"The key itself, only in the answer that makes it."`
	CreatedAt instant `json:"created_at"`
	ExpiresAt instant `json:"expires_at,omitzero"`
	RevokedAt instant `json:"revoked_at,omitzero"`
}

func keyOf(k account.Key) APIKey {
	return APIKey{
		KeyID: k.ID, UserID: k.UserID, Name: k.Name, Role: string(k.Role),
		CreatedAt: at(k.CreatedAt), ExpiresAt: at(k.ExpiresAt), RevokedAt: at(k.RevokedAt),
	}
}

// createAPIKey is the body that makes a key.
type createAPIKey struct {
	Name      string `json:"name,omitempty" maxLength:"256"`
	Role      string `json:"role" enum:"viewer,member,admin"`
	ExpiresAt string `json:"expires_at,omitempty" format:"date-time"`
}

type listKeysInput struct {
	After string `query:"after" doc:"next_after of the page before."`
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"50"`
}

type keyParam struct {
	KeyID string `path:"key_id"`
}

func (a *API) keys() {
	handle(a, operation{
		id: "createAPIKey", method: "POST", path: "/v1/api_keys", status: 201, body: createAPIKey{},
		summary: "Create an API key", about: "It belongs to the caller's user. The key itself is in this answer and nowhere else.",
	}, a.createKey)
	handle(a, operation{
		id: "listAPIKeys", method: "GET", path: "/v1/api_keys", status: 200, summary: "List API keys",
	}, a.listKeys)
	handle(a, operation{
		id: "revokeAPIKey", method: "DELETE", path: "/v1/api_keys/{key_id}", status: 204, summary: "Revoke an API key",
	}, a.revokeKey)
}

func (a *API) createKey(ctx context.Context, c account.Caller, _ *none) (*answer[APIKey], error) {
	var body createAPIKey
	if err := strict.Decode(requestOf(ctx).body, &body); err != nil {
		return nil, err
	}
	var expires time.Time
	if body.ExpiresAt != "" {
		var err error
		if expires, err = time.Parse(time.RFC3339, body.ExpiresAt); err != nil {
			return nil, fault.Invalid("expires_at", "expected a time such as 2030-01-02T03:04:05Z")
		}
	}
	key, k, err := a.service.CreateAPIKey(ctx, c, body.Name, account.Role(body.Role), expires.UTC())
	out := &answer[APIKey]{keyOf(k)}
	out.Body.Key = key
	return out, err
}

func (a *API) listKeys(ctx context.Context, c account.Caller, in *listKeysInput) (*answer[page[APIKey]], error) {
	found, err := a.service.ListAPIKeys(ctx, c, store.PageQuery{After: in.After, Limit: in.Limit})
	return pageOf(found, keyOf), err
}

func (a *API) revokeKey(ctx context.Context, c account.Caller, in *keyParam) (*none, error) {
	return &none{}, a.service.RevokeAPIKey(ctx, c, in.KeyID)
}
