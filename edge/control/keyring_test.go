package control_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/edge/control"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/keyring"
	"github.com/sallyport/sallyport/inject/store"
)

// The API takes values and gives none back. Ledger: SI-19, SI-25, SI-26
func TestKeyringOverTheSocket(t *testing.T) {
	t.Parallel()
	f := serveWith(t, func(o *control.Options, state string) {
		o.Keyring = keyring.New(state, store.New(state))
	})
	ctx := t.Context()
	org := keyring.Collection{Org: "acme"}
	put, err := f.PutCredential(ctx, org, "STRIPE", []byte("c4nary-value"), []inject.Template{{Host: "api.example.com", Header: "X-Key"}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.ListCredentials(ctx, org)
	if err != nil || len(list) != 1 || list[0].Version != put.Version || list[0].Bindings[0].Header != "X-Key" {
		t.Errorf("%+v, %v", list, err)
	}
	v, err := f.CreateVault(ctx, "acme", "web", "deploy")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.PutCredential(ctx, keyring.Collection{Vault: v.ID}, "DEPLOY", []byte("c4nary-value"), []inject.Template{{Host: "deploy.example.com"}}); err != nil {
		t.Fatal(err)
	}
	found, err := f.Resolve(ctx, keyring.Wanted{Org: "acme", Project: "web", Env: map[string]string{"KEY": "STRIPE"}, Vaults: []string{v.ID}})
	if err != nil || len(found) != 2 || found[0].Env != "KEY" || found[1].Env != "DEPLOY" || !strings.HasPrefix(found[1].Secret, "store:") {
		t.Errorf("%+v, %v", found, err)
	}
	shown, err := json.Marshal([]any{list, found, put})
	if err != nil || strings.Contains(string(shown), "c4nary") {
		t.Errorf("an answer holds the value: %s", shown)
	}
	if _, err := f.Resolve(ctx, keyring.Wanted{Org: "acme", Env: map[string]string{"KEY": "NONE"}}); !control.IsMissing(err) || !strings.Contains(err.Error(), "NONE") {
		t.Errorf("unknown name: %v", err)
	}
	vaults, err := f.ListVaults(ctx, "acme", "")
	if err != nil || len(vaults) != 1 {
		t.Errorf("%v, %v", vaults, err)
	}
	statuses := map[int]error{}
	_, statuses[http.StatusConflict] = f.CreateVault(ctx, "acme", "web", "deploy")
	_, statuses[http.StatusBadRequest] = f.PutCredential(ctx, org, "bad-name", []byte("v"), nil)
	statuses[http.StatusNotFound] = f.DeleteCredential(ctx, org, "NONE")
	for status, err := range statuses {
		var e *control.Error
		if !errors.As(err, &e) || e.Status != status {
			t.Errorf("%v, want %d", err, status)
		}
	}
	if err := errors.Join(f.DeleteCredential(ctx, org, "STRIPE"), f.DeleteVault(ctx, v.ID)); err != nil {
		t.Error(err)
	}
	if _, err := serve(t).ListVaults(ctx, "acme", ""); !control.IsNotFound(err) {
		t.Errorf("an edge without a keyring: %v", err)
	}
}
