package environment

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// Changes are the settings that differ between two definitions, by the names
// that the API gives them, sorted.
type Changes []string

// Any reports whether something changed.
func (c Changes) Any() bool { return len(c) > 0 }

// Has reports whether one of the settings changed.
func (c Changes) Has(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(c, n) })
}

// Stale reports whether a verdict about the setup script is out of date after
// the changes (ledger SV-35).
func (c Changes) Stale() bool {
	return slices.ContainsFunc(settings, func(s setting) bool { return s.tested != nil && c.Has(s.name) })
}

// A setting is one field of a definition.
type setting struct {
	name  string
	equal func(a, b Definition) bool
	// tested returns what of the setting a setup run tests; nil: nothing.
	tested func(Definition) any
}

// settings are all fields of a Definition. What changes, and what makes a
// verdict stale, follow from this table alone.
var settings = []setting{
	{"boot_setup", func(a, b Definition) bool { return reflect.DeepEqual(a.BootSetup, b.BootSetup) },
		func(d Definition) any { return caches(d.BootSetup) }},
	{"computer_use", func(a, b Definition) bool { return a.ComputerUse == b.ComputerUse }, nil},
	{"description", func(a, b Definition) bool { return a.Description == b.Description }, nil},
	{"env_vars", func(a, b Definition) bool { return maps.Equal(a.EnvVars, b.EnvVars) },
		func(d Definition) any { return d.EnvVars }},
	{"idle_stop_after_seconds", func(a, b Definition) bool { return a.IdleStopAfterSeconds == b.IdleStopAfterSeconds }, nil},
	{"image", func(a, b Definition) bool { return a.Image == b.Image },
		func(d Definition) any { return d.Image }},
	{"metadata", func(a, b Definition) bool { return sameJSON(a.Metadata, b.Metadata) }, nil},
	{"mounts", func(a, b Definition) bool { return slices.Equal(a.Mounts, b.Mounts) },
		func(d Definition) any { return d.Mounts }},
	{"name", func(a, b Definition) bool { return a.Name == b.Name }, nil},
	{"network_policy", func(a, b Definition) bool { return a.NetworkPolicy.Equal(b.NetworkPolicy) },
		func(d Definition) any { return testedPolicy(d.NetworkPolicy) }},
	{"privileged", func(a, b Definition) bool { return a.Privileged == b.Privileged },
		func(d Definition) any { return d.Privileged }},
	{"provider", func(a, b Definition) bool { return a.Provider == b.Provider },
		func(d Definition) any { return d.Provider }},
	{"pvc_size_gi", func(a, b Definition) bool { return a.WorkspaceGiB == b.WorkspaceGiB },
		func(d Definition) any { return orDefault(d.WorkspaceGiB, DefaultWorkspaceGiB) }},
	{"resources", func(a, b Definition) bool { return reflect.DeepEqual(a.Resources, b.Resources) },
		func(d Definition) any { return d.Resources }},
	{"setup", func(a, b Definition) bool { return a.Setup == b.Setup },
		func(d Definition) any { return d.Setup }},
	{"steps", func(a, b Definition) bool { return slices.Equal(a.Steps, b.Steps) },
		func(d Definition) any { return d.Steps }},
	{"stopped_delete_after_seconds", func(a, b Definition) bool { return a.StoppedDeleteAfterSeconds == b.StoppedDeleteAfterSeconds }, nil},
}

// Diff returns the settings that differ between two normalised definitions.
// Metadata differs by meaning: the order of members doesn't matter.
func Diff(a, b Definition) Changes {
	var changes Changes
	for _, s := range settings {
		if !s.equal(a, b) {
			changes = append(changes, s.name)
		}
	}
	return changes
}

func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := number(a)
	y, errY := number(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// number decodes JSON and keeps numbers as they were written.
func number(data json.RawMessage) (value any, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}
