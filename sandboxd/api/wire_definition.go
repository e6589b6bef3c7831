package api

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sallyport/sallyport/sandboxd/environment"
)

// The types of this file describe the bodies that package environment reads:
// it tells null from nothing, which these couldn't. The document is made of
// them, and a test holds both to the same members.

// createEnvironment is the body that makes an environment.
type createEnvironment struct {
	Name     string `json:"name" minLength:"1" maxLength:"256" doc:"What lists show."`
	Provider string `json:"provider" doc:"A value of listSandboxProviders." example:"runs"`
	Settings
}

// updateEnvironment is the body that changes one.
type updateEnvironment struct {
	Name     string `json:"name,omitempty" minLength:"1" maxLength:"256" doc:"What lists show."`
	Provider string `json:"provider,omitempty" doc:"A value of listSandboxProviders."`
	Settings
	ExpectedAccess *expectedAccess `json:"expected_access,omitempty" doc:"What you last read. Needed to change a saved network_policy other than {}, and to turn privileged on."`
}

// Settings are what both have (exported for huma, which skips the fields of
// other embedded types); null is a new environment's value.
type Settings struct {
	Description               string            `json:"description,omitempty" nullable:"true" doc:"For people; no sandbox sees it."`
	Resources                 nullableResources `json:"resources,omitzero"`
	WorkspaceGiB              int64             `json:"pvc_size_gi,omitempty" nullable:"true" minimum:"0" doc:"Workspace disk in GiB; 0: the service's default. Ranges are checked when compute starts."`
	Setup                     nullableSetup     `json:"setup,omitzero"`
	NetworkPolicy             nullablePolicy    `json:"network_policy,omitzero"`
	Privileged                bool              `json:"privileged,omitempty" nullable:"true" doc:"Containers inside the sandbox."`
	ComputerUse               bool              `json:"computer_use,omitempty" nullable:"true" doc:"A browser display."`
	IdleStopAfterSeconds      int64             `json:"idle_stop_after_seconds,omitempty" nullable:"true" minimum:"0" doc:"0: 1800."`
	StoppedDeleteAfterSeconds int64             `json:"stopped_delete_after_seconds,omitempty" nullable:"true" minimum:"0" doc:"0: the service's default."`
	EnvVars                   map[string]string `json:"env_vars,omitempty" doc:"Plain text; replaces the whole map."`
	Mounts                    []mount           `json:"mounts,omitempty" nullable:"true" doc:"Replaces the whole list."`
	Image                     string            `json:"image,omitempty" nullable:"true" doc:"One of the service's own images; leave it out for the runner image."`
	Metadata                  map[string]any    `json:"metadata,omitempty" doc:"Yours; returned unchanged."`
	Steps                     []string          `json:"steps,omitempty" nullable:"true" doc:"Build steps of the image."`
	BootSetup                 []bootStep        `json:"boot_setup,omitempty" nullable:"true" doc:"Command groups of every boot."`
}

type expectedAccess struct {
	NetworkPolicy policyDocument `json:"network_policy"`
	Privileged    bool           `json:"privileged"`
}

type resources struct {
	CPUMilli    int64        `json:"cpu_milli,omitempty" minimum:"0" doc:"At least 250; 0: the service's default."`
	MemoryMiB   int64        `json:"memory_mib,omitempty" minimum:"0" doc:"At least 1024; 0: the service's default."`
	Accelerator *accelerator `json:"accelerator,omitempty"`
}

type accelerator struct {
	Type  string `json:"type,omitempty" enum:"gpu"`
	Name  string `json:"name"`
	Count int64  `json:"count,omitempty" minimum:"1" maximum:"1"`
}

type setupScript struct {
	Script         string `json:"script" maxLength:"65536"`
	TimeoutSeconds int64  `json:"timeout_seconds,omitempty" minimum:"10" maximum:"3600" doc:"Default 600."`
}

type mount struct {
	Source string `json:"source" doc:"HTTPS URL of a file."`
	Path   string `json:"mount_path" doc:"Where it goes, relative to /workspace."`
}

type bootStep struct {
	Name     string     `json:"name"`
	Commands []string   `json:"commands" nullable:"false"`
	Cache    *bootCache `json:"cache,omitempty"`
}

type bootCache struct {
	Key   string   `json:"key,omitempty"`
	Paths []string `json:"paths" nullable:"false"`
	Files []string `json:"files,omitempty" nullable:"false"`
}

// Huma can't say of a reference that it may be null, so these say it of a copy.
type (
	nullableResources struct{}
	nullableSetup     struct{}
	nullablePolicy    struct{}
)

// Schema implements huma.SchemaProvider.
func (nullableResources) Schema(r huma.Registry) *huma.Schema { return nullable[resources](r) }

// Schema implements huma.SchemaProvider.
func (nullableSetup) Schema(r huma.Registry) *huma.Schema {
	s := nullable[setupScript](r)
	s.Required = nil
	return s
}

// Schema implements huma.SchemaProvider.
func (nullablePolicy) Schema(r huma.Registry) *huma.Schema { return policySchema(r, true) }

func nullable[T any](r huma.Registry) *huma.Schema {
	s := *huma.SchemaFromType(r, typeOf[T]())
	s.Nullable = true
	return &s
}

// Definition is the settings of an environment in an answer.
type Definition struct {
	Name                      string            `json:"name"`
	Provider                  string            `json:"provider"`
	Description               string            `json:"description,omitempty"`
	Resources                 *resources        `json:"resources,omitempty"`
	WorkspaceGiB              int64             `json:"pvc_size_gi,omitempty"`
	Setup                     *setupScript      `json:"setup,omitempty"`
	NetworkPolicy             policyDocument    `json:"network_policy"`
	Privileged                bool              `json:"privileged"`
	ComputerUse               bool              `json:"computer_use"`
	IdleStopAfterSeconds      int64             `json:"idle_stop_after_seconds,omitempty"`
	StoppedDeleteAfterSeconds int64             `json:"stopped_delete_after_seconds,omitempty"`
	EnvVars                   map[string]string `json:"env_vars,omitempty"`
	Mounts                    []mount           `json:"mounts,omitempty" nullable:"false"`
	Image                     string            `json:"image,omitempty"`
	Metadata                  *metadata         `json:"metadata,omitempty"`
	Steps                     []string          `json:"steps,omitempty" nullable:"false"`
	BootSetup                 []bootStep        `json:"boot_setup,omitempty" nullable:"false"`
}

// metadata is any object, as it was sent.
type metadata struct{ json.RawMessage }

// Schema implements huma.SchemaProvider.
func (metadata) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

func definitionOf(d environment.Definition) Definition {
	out := Definition{
		Name: d.Name, Provider: d.Provider, Description: d.Description, WorkspaceGiB: d.WorkspaceGiB,
		NetworkPolicy: policyDocument{d.NetworkPolicy}, Privileged: d.Privileged, ComputerUse: d.ComputerUse,
		IdleStopAfterSeconds: d.IdleStopAfterSeconds, StoppedDeleteAfterSeconds: d.StoppedDeleteAfterSeconds,
		EnvVars: d.EnvVars, Image: d.Image, Steps: d.Steps,
	}
	if d.Resources != (environment.Resources{}) {
		out.Resources = &resources{CPUMilli: d.Resources.CPUMilli, MemoryMiB: d.Resources.MemoryMiB}
		if a := d.Resources.Accelerator; a != nil {
			out.Resources.Accelerator = &accelerator{a.Type, a.Name, a.Count}
		}
	}
	if d.Setup != (environment.Setup{}) {
		out.Setup = &setupScript{d.Setup.Script, d.Setup.TimeoutSeconds}
	}
	for _, m := range d.Mounts {
		out.Mounts = append(out.Mounts, mount{m.Source, m.Path})
	}
	if len(d.Metadata) > 0 {
		out.Metadata = &metadata{d.Metadata}
	}
	for _, b := range d.BootSetup {
		step := bootStep{Name: b.Name, Commands: b.Commands}
		if c := b.Cache; c != nil {
			step.Cache = &bootCache{c.Key, c.Paths, c.Files}
		}
		out.BootSetup = append(out.BootSetup, step)
	}
	return out
}
