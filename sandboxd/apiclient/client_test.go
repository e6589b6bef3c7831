package apiclient_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/oapi-codegen/nullable"

	"github.com/sallyport/sallyport/sandboxd"
	"github.com/sallyport/sallyport/sandboxd/api"
	"github.com/sallyport/sallyport/sandboxd/apiclient"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/machine"
	"github.com/sallyport/sallyport/sandboxd/provider"
	"github.com/sallyport/sallyport/sandboxd/setup"
	"github.com/sallyport/sallyport/sandboxd/store/sqlite"
)

// Ledger: AP-8
func TestClientIsOfTheServedDocument(t *testing.T) {
	t.Parallel()
	served, err := json.MarshalIndent(api.New(nil, slog.New(slog.DiscardHandler)).OpenAPI(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.TrimSpace(kept), served) {
		t.Error("openapi.json is not what the API serves: run make client")
	}
}

// The generator wrote down what it read and made; a hand that changes either
// is found here.
func TestClientIsAsItWasGenerated(t *testing.T) {
	t.Parallel()
	sums, err := os.ReadFile("generated.sha256")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(sums)), "\n")
	if len(lines) != 2 {
		t.Errorf("%d sums", len(lines))
	}
	for _, line := range lines {
		sum, name, _ := strings.Cut(line, "  ")
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s was changed: run make client", name)
		}
	}
}

func TestClientTalksToTheAPI(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	service := sandboxd.New(sandboxd.Options{Store: db, Runs: &setup.Runner{}, Offers: []sandboxd.Offer{{
		Description: provider.Description{Name: "runs", Available: true},
		Rules:       environment.Provider{Name: "runs", Machines: machine.Local(4000, 8192)},
	}}})
	key, err := service.Bootstrap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(api.New(service, slog.New(slog.DiscardHandler)))
	defer server.Close()
	client, err := apiclient.New(server.URL, key)
	if err != nil {
		t.Fatal(err)
	}
	made, err := client.CreateEnvironmentWithResponse(t.Context(), nil, apiclient.CreateEnvironment{
		Name: "a", Provider: "runs", Description: nullable.NewNullableWithValue("d"),
	})
	if err != nil || made.JSON201 == nil || made.JSON201.CreatedAt.IsZero() || made.HTTPResponse.Header.Get("ETag") != `"1"` {
		t.Fatalf("create: %+v, %v", made, err)
	}
	id := made.JSON201.EnvironmentId
	changed, err := client.UpdateEnvironmentWithResponse(t.Context(), id, nil, apiclient.UpdateEnvironment{Description: nullable.NewNullNullable[string]()})
	if err != nil || changed.JSON200.Description != nil || changed.JSON200.Name != "a" {
		t.Errorf("update: %+v, %v", changed, err)
	}
	list, err := client.ListEnvironmentsWithResponse(t.Context(), nil)
	if err != nil || len(list.JSON200.Data) != 1 || !list.JSON200.NextAfter.IsNull() {
		t.Errorf("list: %s, %v", list.Body, err)
	}
	_, err = client.UpdateEnvironmentWithBodyWithResponse(t.Context(), id, nil, "application/json", strings.NewReader(`{"pvc_size_gi":-1}`))
	var failure *apiclient.Failure
	if !errors.As(err, &failure) || failure.Status != 400 || failure.Code != "invalid_request" || *failure.Param != "pvc_size_gi" || !strings.Contains(err.Error(), failure.RequestId) {
		t.Errorf("refused: %v", err)
	}
	if _, err := client.DeleteEnvironmentWithResponse(t.Context(), id, nil); err != nil {
		t.Errorf("delete: %v", err)
	}
	stranger, err := apiclient.New(server.URL, "sp_x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.ListEnvironmentsWithResponse(t.Context(), nil); !errors.As(err, &failure) || failure.Status != 401 {
		t.Errorf("another key: %v", err)
	}
}

func TestClientTrustsNothingElse(t *testing.T) {
	t.Parallel()
	var went bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { went = true }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	client, err := apiclient.New(server.URL, "sp_x")
	if err != nil {
		t.Fatal(err)
	}
	var failure *apiclient.Failure
	if _, err := client.ListEnvironmentsWithResponse(t.Context(), nil); err == nil || errors.As(err, &failure) || went {
		t.Errorf("a redirect: %v, followed %v", err, went)
	}
}
