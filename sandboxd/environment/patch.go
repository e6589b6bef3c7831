package environment

import (
	"encoding/json"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/strict"
)

// Field is one setting of a [Patch]: left out, null, or a value.
type Field[T any] = strict.Field[T]

// A Patch is what a caller wants of a definition: a field that was left out
// keeps what is saved, null sets what a new environment has, and a value
// replaces the setting whole. The zero value changes nothing.
type Patch struct {
	Name                      Field[string]
	Provider                  Field[string]
	Description               Field[string]
	Resources                 Field[Resources]
	WorkspaceGiB              Field[int64]
	Setup                     Field[Setup]
	NetworkPolicy             Field[policy.Document]
	Privileged                Field[bool]
	ComputerUse               Field[bool]
	IdleStopAfterSeconds      Field[int64]
	StoppedDeleteAfterSeconds Field[int64]
	EnvVars                   Field[map[string]string]
	Mounts                    Field[[]Mount]
	Image                     Field[string]
	Metadata                  Field[json.RawMessage]
	Steps                     Field[[]string]
	BootSetup                 Field[[]BootStep]

	// Expected is what the caller believes to be saved, nil when it didn't
	// say. See [CheckAccess].
	Expected *Access
}

// Apply returns the definition that p makes of d, normalised, and what is
// different in it. It checks nothing: [Update] does. Neither d nor p is
// changed, but the result may share maps and slices with both.
func Apply(d Definition, p Patch) (Definition, Changes) {
	next := d
	assign(&next.Name, p.Name)
	assign(&next.Provider, p.Provider)
	assign(&next.Description, p.Description)
	assign(&next.Resources, p.Resources)
	assign(&next.WorkspaceGiB, p.WorkspaceGiB)
	assign(&next.Setup, p.Setup)
	assign(&next.NetworkPolicy, p.NetworkPolicy)
	assign(&next.Privileged, p.Privileged)
	assign(&next.ComputerUse, p.ComputerUse)
	assign(&next.IdleStopAfterSeconds, p.IdleStopAfterSeconds)
	assign(&next.StoppedDeleteAfterSeconds, p.StoppedDeleteAfterSeconds)
	assign(&next.EnvVars, p.EnvVars)
	assign(&next.Mounts, p.Mounts)
	assign(&next.Image, p.Image)
	assign(&next.Metadata, p.Metadata)
	assign(&next.Steps, p.Steps)
	assign(&next.BootSetup, p.BootSetup)
	next = Normalise(next)
	return next, Diff(Normalise(d), next)
}

// assign sets a setting to the field's value, or for null to its zero value,
// which is what a new environment has.
func assign[T any](setting *T, f Field[T]) {
	if value, ok := f.Get(); ok || f.IsNull() {
		*setting = value
	}
}

// Create returns the definition of a new environment, normalised and valid by
// the rules, or the *fault.Error that says why there can't be one.
func Create(p Patch, r Rules) (Definition, error) {
	d, _ := Apply(Definition{}, p)
	if err := Validate(d, r); err != nil {
		return Definition{}, err
	}
	return d, nil
}

// Update returns what a saved definition becomes and what changes in it. The
// precondition on access is checked first, then the rules that the changes
// touch: nobody is kept from renaming an environment because a machine was
// withdrawn. The caller makes the update and its reading of saved one step
// (ledger NP-33). Errors are *fault.Error.
func Update(saved Definition, p Patch, r Rules) (Definition, Changes, error) {
	next, changes := Apply(saved, p)
	if err := CheckAccess(saved.Access(), next.Access(), p.Expected); err != nil {
		return Definition{}, nil, err
	}
	if err := validate(next, changes, r); err != nil {
		return Definition{}, nil, err
	}
	return next, changes, nil
}
