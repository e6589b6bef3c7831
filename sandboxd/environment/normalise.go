package environment

import (
	"bytes"
	"encoding/json"

	"github.com/sallyport/sallyport/sandboxd/environment/script"
)

// What settings mean that were left out or are 0. The default size of compute
// is the machine catalogue's.
const (
	DefaultSetupTimeoutSeconds       = 600
	DefaultIdleStopAfterSeconds      = 1800
	DefaultStoppedDeleteAfterSeconds = 604800
	DefaultWorkspaceGiB              = 10
)

// Normalise returns d as it is saved: the script in its normal form with a time
// limit, empty collections nil, an accelerator whole, metadata without white
// space. It is idempotent and checks nothing; d isn't changed.
func Normalise(d Definition) Definition {
	d.Setup.Script = script.Normalise(d.Setup.Script)
	if d.Setup.Script != "" {
		d.Setup.TimeoutSeconds = orDefault(d.Setup.TimeoutSeconds, DefaultSetupTimeoutSeconds)
	}
	if d.Resources.Accelerator != nil {
		a := *d.Resources.Accelerator
		a.Count = orDefault(a.Count, 1)
		d.Resources.Accelerator = &a
	}
	if len(d.NetworkPolicy.Rules) == 0 {
		d.NetworkPolicy.Rules = nil
	}
	if len(d.EnvVars) == 0 {
		d.EnvVars = nil
	}
	if len(d.Mounts) == 0 {
		d.Mounts = nil
	}
	if len(d.Steps) == 0 {
		d.Steps = nil
	}
	if len(d.BootSetup) == 0 {
		d.BootSetup = nil
	}
	d.Metadata = compact(d.Metadata)
	return d
}

func compact(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return nil
	}
	var out bytes.Buffer
	if json.Compact(&out, data) != nil {
		return data // Validate says so
	}
	return out.Bytes()
}

func orDefault(v, instead int64) int64 {
	if v == 0 {
		return instead
	}
	return v
}

// Access returns the settings whose change needs a precondition.
func (d Definition) Access() Access {
	return Access{NetworkPolicy: d.NetworkPolicy, Privileged: d.Privileged}
}

// IdleStop returns the seconds without activity after which compute stops.
func (d Definition) IdleStop() int64 {
	return orDefault(d.IdleStopAfterSeconds, DefaultIdleStopAfterSeconds)
}

// StoppedDelete returns the seconds after which a stopped sandbox is deleted.
func (d Definition) StoppedDelete() int64 {
	return orDefault(d.StoppedDeleteAfterSeconds, DefaultStoppedDeleteAfterSeconds)
}

// Workspace returns the size of the workspace in GiB.
func (d Definition) Workspace() int64 { return orDefault(d.WorkspaceGiB, DefaultWorkspaceGiB) }

// Warnings returns the advice about the setup script.
func (d Definition) Warnings() []Warning { return script.Read(d.Setup.Script).Warnings() }
