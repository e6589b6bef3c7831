package environment

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/strict"
)

// body is a definition, whole or in parts, as the API spells it.
type body struct {
	Name                      Field[string]            `json:"name,omitzero"`
	Provider                  Field[string]            `json:"provider,omitzero"`
	Description               Field[string]            `json:"description,omitzero"`
	Resources                 Field[resourcesBody]     `json:"resources,omitzero"`
	WorkspaceGiB              Field[int64]             `json:"pvc_size_gi,omitzero"`
	Setup                     Field[setupBody]         `json:"setup,omitzero"`
	NetworkPolicy             Field[policy.Document]   `json:"network_policy,omitzero"`
	Privileged                Field[bool]              `json:"privileged,omitzero"`
	ComputerUse               Field[bool]              `json:"computer_use,omitzero"`
	IdleStopAfterSeconds      Field[int64]             `json:"idle_stop_after_seconds,omitzero"`
	StoppedDeleteAfterSeconds Field[int64]             `json:"stopped_delete_after_seconds,omitzero"`
	EnvVars                   Field[map[string]string] `json:"env_vars,omitzero"`
	Mounts                    Field[[]mountBody]       `json:"mounts,omitzero"`
	Image                     Field[string]            `json:"image,omitzero"`
	Metadata                  Field[jsontext.Value]    `json:"metadata,omitzero"`
	Steps                     Field[[]string]          `json:"steps,omitzero"`
	BootSetup                 Field[[]bootStepBody]    `json:"boot_setup,omitzero"`
}

type resourcesBody struct {
	CPUMilli    Field[int64]           `json:"cpu_milli,omitzero"`
	MemoryMiB   Field[int64]           `json:"memory_mib,omitzero"`
	Accelerator Field[acceleratorBody] `json:"accelerator,omitzero"`
}

type acceleratorBody struct {
	Type  Field[string] `json:"type,omitzero"`
	Name  Field[string] `json:"name,omitzero"`
	Count Field[int64]  `json:"count,omitzero"`
}

type setupBody struct {
	Script         Field[string] `json:"script,omitzero"`
	TimeoutSeconds Field[int64]  `json:"timeout_seconds,omitzero"`
}

type mountBody struct {
	Source Field[string] `json:"source,omitzero"`
	Path   Field[string] `json:"mount_path,omitzero"`
}

type bootStepBody struct {
	Name     Field[string]    `json:"name,omitzero"`
	Commands Field[[]string]  `json:"commands,omitzero"`
	Cache    Field[cacheBody] `json:"cache,omitzero"`
}

type cacheBody struct {
	Key   Field[string]   `json:"key,omitzero"`
	Paths Field[[]string] `json:"paths,omitzero"`
	Files Field[[]string] `json:"files,omitzero"`
}

type accessBody struct {
	NetworkPolicy Field[policy.Document] `json:"network_policy,omitzero"`
	Privileged    Field[bool]            `json:"privileged,omitzero"`
}

type updateBody struct {
	body
	Expected Field[accessBody] `json:"expected_access,omitzero"`
}

// serviceSet are the fields that the service sets (ledger EV-10).
var serviceSet = []string{
	"organization_id", "environment_id", "scope", "http_port", "setup_verification", "setup_warnings",
	"setup_updated_at", "setup_updated_by_user_id", "created_at", "updated_at",
}

// ParseCreate reads the body of a request that makes an environment. Every
// unknown or duplicate field, at any depth, and every wrong type is refused;
// null is the same as leaving a field out. The error is a *fault.Error with the
// path of what is wrong.
func ParseCreate(data []byte) (Patch, error) {
	var b body
	if err := decode(data, &b); err != nil {
		return Patch{}, err
	}
	return b.patch()
}

// ParseUpdate reads the body of a request that changes an environment, as
// strictly as [ParseCreate]; it may have an expected_access besides.
func ParseUpdate(data []byte) (Patch, error) {
	var b updateBody
	if err := decode(data, &b); err != nil {
		return Patch{}, err
	}
	p, err := b.patch()
	if err != nil {
		return Patch{}, err
	}
	p.Expected, err = b.Expected.Or(accessBody{}).access(b.Expected)
	return p, err
}

func decode(data []byte, into any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return fault.Invalid("", "expected a JSON object, found nothing")
	}
	err := strict.Decode(data, into)
	var e *fault.Error
	if errors.As(err, &e) && slices.Contains(serviceSet, e.Param) {
		return fault.Invalid(e.Param, "is set by the service; leave it out")
	}
	return err
}

// MarshalJSON writes the settings that d has, and always network_policy and
// privileged. What it writes, UnmarshalJSON reads back the same.
func (d Definition) MarshalJSON() ([]byte, error) {
	return json.Marshal(bodyOf(d), json.Deterministic(true))
}

// UnmarshalJSON is [ParseCreate] for a saved definition.
func (d *Definition) UnmarshalJSON(data []byte) error {
	p, err := ParseCreate(data)
	if err != nil {
		return fmt.Errorf("decode a definition: %w", err)
	}
	*d, _ = Apply(Definition{}, p)
	return nil
}

// bodyOf leaves out what is not set.
func bodyOf(d Definition) body {
	b := body{
		Name:                      given(d.Name),
		Provider:                  given(d.Provider),
		Description:               given(d.Description),
		WorkspaceGiB:              given(d.WorkspaceGiB),
		NetworkPolicy:             strict.Value(d.NetworkPolicy),
		Privileged:                strict.Value(d.Privileged),
		ComputerUse:               given(d.ComputerUse),
		IdleStopAfterSeconds:      given(d.IdleStopAfterSeconds),
		StoppedDeleteAfterSeconds: given(d.StoppedDeleteAfterSeconds),
		Image:                     given(d.Image),
	}
	if d.Resources != (Resources{}) {
		b.Resources = strict.Value(resourcesOf(d.Resources))
	}
	if d.Setup != (Setup{}) {
		b.Setup = strict.Value(setupBody{Script: strict.Value(d.Setup.Script), TimeoutSeconds: given(d.Setup.TimeoutSeconds)})
	}
	if len(d.EnvVars) > 0 {
		b.EnvVars = strict.Value(d.EnvVars)
	}
	if len(d.Mounts) > 0 {
		mounts := make([]mountBody, len(d.Mounts))
		for i, m := range d.Mounts {
			mounts[i] = mountBody{strict.Value(m.Source), strict.Value(m.Path)}
		}
		b.Mounts = strict.Value(mounts)
	}
	if len(d.Metadata) > 0 {
		b.Metadata = strict.Value(jsontext.Value(d.Metadata))
	}
	if len(d.Steps) > 0 {
		b.Steps = strict.Value(d.Steps)
	}
	if len(d.BootSetup) > 0 {
		b.BootSetup = strict.Value(bootSetupOf(d.BootSetup))
	}
	return b
}

func resourcesOf(r Resources) resourcesBody {
	b := resourcesBody{CPUMilli: given(r.CPUMilli), MemoryMiB: given(r.MemoryMiB)}
	if a := r.Accelerator; a != nil {
		b.Accelerator = strict.Value(acceleratorBody{strict.Value(a.Type), strict.Value(a.Name), given(a.Count)})
	}
	return b
}

func bootSetupOf(steps []BootStep) []bootStepBody {
	list := make([]bootStepBody, len(steps))
	for i, s := range steps {
		list[i] = bootStepBody{Name: strict.Value(s.Name), Commands: strict.Value(s.Commands)}
		if c := s.Cache; c != nil {
			kept := cacheBody{Key: given(c.Key), Paths: strict.Value(c.Paths)}
			if len(c.Files) > 0 {
				kept.Files = strict.Value(c.Files)
			}
			list[i].Cache = strict.Value(kept)
		}
	}
	return list
}

// given leaves out a zero value.
func given[T comparable](v T) Field[T] {
	var zero T
	if v == zero {
		return Field[T]{}
	}
	return strict.Value(v)
}

var (
	_ json.Marshaler   = Definition{}
	_ json.Unmarshaler = (*Definition)(nil)
)
