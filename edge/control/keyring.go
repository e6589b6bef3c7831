package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/keyring"
)

// PutCredentialRequest carries a value, base64 in JSON, and what it is good
// for. Of a credential that is there, what is left out stays.
type PutCredentialRequest struct {
	Value    []byte            `json:"value,omitempty"`
	Bindings []inject.Template `json:"bindings,omitempty"`
}

// CredentialList is the answer to a listing, ordered by name.
type CredentialList struct {
	Credentials []keyring.Credential `json:"credentials"`
}

// CreateVaultRequest makes an empty vault.
type CreateVaultRequest struct {
	Org     string `json:"org"`
	Project string `json:"project,omitempty"`
	Name    string `json:"name"`
}

// VaultList is the answer to a listing, ordered by name.
type VaultList struct {
	Vaults []keyring.Vault `json:"vaults"`
}

// ResolveRequest asks for the bindings of a session.
type ResolveRequest struct {
	Org     string            `json:"org"`
	Project string            `json:"project,omitempty"`
	Env     map[string]string `json:"env,omitempty"` // variable → name of a credential
	Vaults  []string          `json:"vaults,omitempty"`
}

// ResolveResponse has them, for the Spec of its boundary.
type ResolveResponse struct {
	Bindings []inject.Binding `json:"bindings"`
}

// errNoKeyring: an edge without a state of its own keeps nothing.
var errNoKeyring = errors.New("this edge keeps no credentials")

// keyringRoutes are the routes on what the product keeps.
func (s *Server) keyringRoutes(handle func(string, answer)) {
	k := s.options.Keyring
	guarded := func(pattern string, a answer) {
		handle(pattern, func(r *http.Request) (any, error) {
			if k == nil {
				return nil, errNoKeyring
			}
			return a(r)
		})
	}
	guarded("PUT /v1/credentials/{collection}/{name}", func(r *http.Request) (any, error) {
		in, err := keyring.ParseCollection(r.PathValue("collection"))
		if err != nil {
			return nil, err
		}
		var req PutCredentialRequest
		if err := decode(r, &req); err != nil {
			return nil, err
		}
		return k.Put(r.Context(), in, r.PathValue("name"), req.Value, req.Bindings)
	})
	guarded("GET /v1/credentials/{collection}", func(r *http.Request) (any, error) {
		in, err := keyring.ParseCollection(r.PathValue("collection"))
		if err != nil {
			return nil, err
		}
		list, err := k.List(in)
		return CredentialList{list}, err
	})
	guarded("DELETE /v1/credentials/{collection}/{name}", func(r *http.Request) (any, error) {
		in, err := keyring.ParseCollection(r.PathValue("collection"))
		if err != nil {
			return nil, err
		}
		return nil, k.Delete(r.Context(), in, r.PathValue("name"))
	})
	guarded("POST /v1/vaults", func(r *http.Request) (any, error) {
		var req CreateVaultRequest
		if err := decode(r, &req); err != nil {
			return nil, err
		}
		return k.CreateVault(req.Org, req.Project, req.Name)
	})
	guarded("GET /v1/vaults", func(r *http.Request) (any, error) {
		list, err := k.Vaults(r.URL.Query().Get("org"), r.URL.Query().Get("project"))
		return VaultList{list}, err
	})
	guarded("DELETE /v1/vaults/{id}", func(r *http.Request) (any, error) {
		return nil, k.DeleteVault(r.Context(), r.PathValue("id"))
	})
	guarded("POST /v1/resolve", func(r *http.Request) (any, error) {
		var req ResolveRequest
		if err := decode(r, &req); err != nil {
			return nil, err
		}
		found, err := k.Resolve(keyring.Wanted(req))
		return ResolveResponse{append([]inject.Binding{}, found...)}, err
	})
}

// PutCredential makes value the next version of a credential, and bindings what
// it is good for. A nil value or nil bindings leave those of one that is there.
// The edge uses a new value within 30 seconds.
func (c *Client) PutCredential(ctx context.Context, in keyring.Collection, name string, value []byte, bindings []inject.Template) (keyring.Credential, error) {
	var out keyring.Credential
	req := PutCredentialRequest{Value: value, Bindings: bindings}
	if err := c.call(ctx, http.MethodPut, credentialPath(in)+"/"+url.PathEscape(name), req, &out, nil); err != nil {
		return keyring.Credential{}, fmt.Errorf("put credential: %w", err)
	}
	return out, nil
}

// ListCredentials returns what is known of the credentials of a collection,
// never a value.
func (c *Client) ListCredentials(ctx context.Context, in keyring.Collection) ([]keyring.Credential, error) {
	var list CredentialList
	if err := c.call(ctx, http.MethodGet, credentialPath(in), nil, &list, nil); err != nil {
		return nil, fmt.Errorf("list credentials: %w", err)
	}
	return list.Credentials, nil
}

// DeleteCredential removes a credential. Requests that need it are refused
// within 30 seconds.
func (c *Client) DeleteCredential(ctx context.Context, in keyring.Collection, name string) error {
	if err := c.call(ctx, http.MethodDelete, credentialPath(in)+"/"+url.PathEscape(name), nil, nil, nil); err != nil {
		return fmt.Errorf("delete credential: %w", err)
	}
	return nil
}

func credentialPath(in keyring.Collection) string {
	return "/v1/credentials/" + url.PathEscape(in.String())
}

// CreateVault makes an empty vault of an organisation, or of one of its
// projects.
func (c *Client) CreateVault(ctx context.Context, org, project, name string) (keyring.Vault, error) {
	var out keyring.Vault
	if err := c.call(ctx, http.MethodPost, "/v1/vaults", CreateVaultRequest{org, project, name}, &out, nil); err != nil {
		return keyring.Vault{}, fmt.Errorf("create vault: %w", err)
	}
	return out, nil
}

// ListVaults returns the vaults of an organisation; with a project, its own and
// the organisation's.
func (c *Client) ListVaults(ctx context.Context, org, project string) ([]keyring.Vault, error) {
	query := url.Values{"org": {org}, "project": {project}}
	var list VaultList
	if err := c.call(ctx, http.MethodGet, "/v1/vaults?"+query.Encode(), nil, &list, nil); err != nil {
		return nil, fmt.Errorf("list vaults: %w", err)
	}
	return list.Vaults, nil
}

// DeleteVault removes a vault with all that is in it.
func (c *Client) DeleteVault(ctx context.Context, id string) error {
	if err := c.call(ctx, http.MethodDelete, "/v1/vaults/"+url.PathEscape(id), nil, nil, nil); err != nil {
		return fmt.Errorf("delete vault: %w", err)
	}
	return nil
}

// Resolve returns the bindings of a session, for the Spec of its boundary. No
// value is read. [IsMissing] tells whether a name leads to no credential.
func (c *Client) Resolve(ctx context.Context, w keyring.Wanted) ([]inject.Binding, error) {
	var out ResolveResponse
	if err := c.call(ctx, http.MethodPost, "/v1/resolve", ResolveRequest(w), &out, nil); err != nil {
		return nil, fmt.Errorf("resolve credentials: %w", err)
	}
	return out.Bindings, nil
}

// IsMissing reports whether err says that no credential has a name that was
// asked for (ledger SI-19). The error's text has the name.
func IsMissing(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == codeMissing
}

const codeMissing = "secret_not_found"

// classifyKeyring maps the errors of a keyring; 0 for others.
func classifyKeyring(err error) (status int, code string) {
	var bad *keyring.InvalidError
	var missing *keyring.MissingError
	switch {
	case errors.As(err, &bad):
		return http.StatusBadRequest, "invalid_request"
	case errors.As(err, &missing):
		return http.StatusUnprocessableEntity, codeMissing
	case errors.Is(err, keyring.ErrNotFound), errors.Is(err, errNoKeyring):
		return http.StatusNotFound, "not_found"
	case errors.Is(err, keyring.ErrConflict):
		return http.StatusConflict, "conflict"
	}
	return 0, ""
}
