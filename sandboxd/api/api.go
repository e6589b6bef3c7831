package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/sallyport/sallyport/policy/schema"
	"github.com/sallyport/sallyport/sandboxd"
	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/id"
)

// API is the handler of the control API. It is safe for concurrent use.
type API struct {
	service *sandboxd.Service
	log     *slog.Logger
	ids     id.Source
	mux     *http.ServeMux
	huma    huma.API
	open    map[string]bool // paths that need no key
}

// version is that of the API, not of the program.
const version = "1"

// bearerScheme is the name of the security scheme in the document.
const bearerScheme = "apiKey"

// New returns the handler of a service.
func New(service *sandboxd.Service, log *slog.Logger) *API {
	adopt()
	a := &API{service: service, log: log, mux: http.NewServeMux(), open: map[string]bool{}}
	a.huma = humago.New(a.mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: "Sallyport", Version: version, Description: "Environments and setup runs of sandboxes for agents."},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					bearerScheme: {Type: "http", Scheme: "bearer", Description: "An API key, sp_..."},
				},
			},
			Security: []map[string][]string{{bearerScheme: {}}},
		},
		Formats:                      map[string]huma.Format{"application/json": {Marshal: marshal, Unmarshal: json.Unmarshal}},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
	})
	a.environments()
	a.setupRuns()
	a.offers()
	a.policies()
	a.keys()
	// Huma describes its own error for each operation, which none ever returns.
	for _, name := range []string{"ErrorModel", "ErrorDetail"} {
		delete(a.huma.OpenAPI().Components.Schemas.Map(), name)
	}
	a.documents()
	return a
}

func marshal(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// An operation is a call that has been declared in the document.
type operation struct {
	id, method, path string
	status           int
	summary          string
	about            string
	body             any // zero value of what the body has to look like; nil: no body
}

// handle declares an operation and answers it with f.
func handle[I, O any](a *API, o operation, f func(context.Context, account.Caller, *I) (*O, error)) {
	registry := a.huma.OpenAPI().Components.Schemas
	op := huma.Operation{
		OperationID: o.id, Method: o.method, Path: o.path, DefaultStatus: o.status,
		Summary: o.summary, Description: o.about,
		Responses: map[string]*huma.Response{
			"default": {
				Description: "The request was refused or failed.",
				Content:     map[string]*huma.MediaType{"application/json": {Schema: registry.Schema(reflect.TypeFor[Error](), true, "Error")}},
			},
			// Huma adds an error of its own to an operation with fewer.
			fmt.Sprint(o.status): {Description: http.StatusText(o.status)},
		},
	}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := f(ctx, requestOf(ctx).caller, in)
		if err != nil {
			return nil, newFailure(ctx, err)
		}
		return out, nil
	})
	if o.body != nil {
		// Only now, for huma would read the body of an operation that has one.
		t := reflect.TypeOf(o.body)
		a.declared(o).RequestBody = &huma.RequestBody{
			Required: true,
			Content:  map[string]*huma.MediaType{"application/json": {Schema: registry.Schema(t, true, t.Name())}},
		}
	}
}

// declared is an operation as the document has it.
func (a *API) declared(o operation) *huma.Operation {
	item := a.huma.OpenAPI().Paths[o.path]
	switch o.method {
	case http.MethodPost:
		return item.Post
	case http.MethodPatch:
		return item.Patch
	default:
		panic("api: no operation with the method " + o.method + " has a body")
	}
}

// answer is an answer with a body.
type answer[T any] struct{ Body T }

// none is an answer without one, or a request without parameters.
type none struct{}

// documents serves what needs no key.
func (a *API) documents() {
	document, err := json.Marshal(a.huma.OpenAPI())
	if err != nil {
		panic("api: encode the OpenAPI document: " + err.Error()) // it is made of the declarations of this package
	}
	for path, body := range map[string][]byte{
		"/v1/openapi.json":                document,
		"/v1/schemas/network_policy.json": schema.Policy,
		"/v1/schemas/fixtures.json":       schema.Fixtures,
		"/healthz":                        []byte(`{"status":"ok"}` + "\n"),
	} {
		a.open[path] = true
		a.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		})
	}
}

// OpenAPI returns the document that the API serves, version 3.1.
func (a *API) OpenAPI() *huma.OpenAPI { return a.huma.OpenAPI() }

// Server returns a server for the API. Its time-outs end slow clients; the
// longest answer is one that waits for a setup run.
func Server(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 30 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
