package api

import (
	"context"

	"github.com/sallyport/sallyport/sandboxd/account"
)

// SandboxProvider is a runtime in an answer. The names are those that clients
// of the reference know.
type SandboxProvider struct {
	Provider          string   `json:"provider"`
	DisplayName       string   `json:"displayName"`
	Description       string   `json:"description"`
	Default           bool     `json:"default"`
	Available         bool     `json:"available"`
	UnavailableReason string   `json:"unavailable_reason,omitempty"`
	Degraded          []string `json:"degraded,omitempty" nullable:"false" doc:"What can be asked for but isn't enforced here."`
	Capabilities      []string `json:"capabilities" nullable:"false"`
}

// all is a list without pages.
type all[T any] struct {
	Data []T `json:"data" nullable:"false"`
}

func (a *API) offers() {
	handle(a, operation{
		id: "listSandboxProviders", method: "GET", path: "/v1/sandbox_providers", status: 200,
		summary: "List runtimes", about: "The same for every organisation.",
	}, a.listProviders)
	handle(a, operation{
		id: "listEnvironmentSetupTemplates", method: "GET", path: "/v1/environment_setup_templates", status: 200,
		summary: "List setup scripts to start from", about: "Copy one and edit it; a template never changes an environment.",
	}, a.listTemplates)
}

// SetupTemplate is a script to start from.
type SetupTemplate struct {
	ID           string   `json:"id"`
	Title        string   `json:"title"`
	Description  string   `json:"description"`
	Script       string   `json:"script"`
	Accelerator  bool     `json:"accelerator,omitempty" doc:"It needs a GPU."`
	NetworkHosts []string `json:"network_hosts" nullable:"false" doc:"Hosts that a network policy must allow for it, as this machine's tools are configured."`
}

func (a *API) listTemplates(ctx context.Context, c account.Caller, _ *none) (*answer[all[SetupTemplate]], error) {
	templates, err := a.service.ListEnvironmentSetupTemplates(ctx, c)
	out := &answer[all[SetupTemplate]]{all[SetupTemplate]{Data: []SetupTemplate{}}}
	for _, t := range templates {
		shown := SetupTemplate{t.ID, t.Title, t.Description, t.Script, t.Accelerator, t.NetworkHosts}
		if shown.NetworkHosts == nil {
			shown.NetworkHosts = []string{}
		}
		out.Body.Data = append(out.Body.Data, shown)
	}
	return out, err
}

func (a *API) listProviders(ctx context.Context, c account.Caller, _ *none) (*answer[all[SandboxProvider]], error) {
	offers, err := a.service.ListSandboxProviders(ctx, c)
	out := &answer[all[SandboxProvider]]{all[SandboxProvider]{Data: []SandboxProvider{}}}
	for _, o := range offers {
		d := o.Description
		p := SandboxProvider{
			Provider: d.Name, DisplayName: d.DisplayName, Description: d.Text, Default: o.Default,
			Available: d.Available, UnavailableReason: d.Reason, Degraded: d.Degraded, Capabilities: []string{},
		}
		for _, capability := range d.Capabilities {
			p.Capabilities = append(p.Capabilities, string(capability))
		}
		out.Body.Data = append(out.Body.Data, p)
	}
	return out, err
}
