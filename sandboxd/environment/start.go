package environment

import (
	"errors"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/machine"
)

// Ranges that are checked when compute starts; 0 is the default everywhere.
const (
	MinWorkspaceGiB              = 1
	MaxWorkspaceGiB              = 1000
	MinIdleStopAfterSeconds      = 120
	MinIdleStopWithComputerUse   = 600
	MaxIdleStopAfterSeconds      = 2592000
	MinStoppedDeleteAfterSeconds = 3600
	MaxStoppedDeleteAfterSeconds = 2592000
)

// Failure codes of a start that no save has. They say why a run or a session
// failed.
const (
	MountFailed           fault.Code = "environment_mount_failed"
	PrivilegedUnavailable fault.Code = "privileged_unavailable"
)

// CheckStart says whether compute can start from a saved definition: nil, or a
// *fault.Error whose code is the failure code of the run or session. Unlike
// [Validate] it looks at ranges and mounts (ledger EV-17, FM-4), and at what
// the service may have lost since the save.
func CheckStart(d Definition, r Rules) error {
	for _, check := range []func(Definition) error{checkRanges, checkMounts} {
		if err := check(d); err != nil {
			return err
		}
	}
	p, ok := r.provider(d.Provider)
	switch {
	case !ok:
		return unstartable(fault.EnvironmentInvalid, "provider", "the provider "+d.Provider+" is no longer here")
	case d.Privileged && !p.Privileged:
		return unstartable(PrivilegedUnavailable, "privileged", "no compute runs containers inside the sandbox")
	case d.ComputerUse && !p.ComputerUse:
		return unstartable(fault.EnvironmentInvalid, "computer_use", "the provider "+p.Name+" has no browser display on this service")
	case d.Image != "" && !slices.Contains(r.RunnerImages, d.Image):
		return unstartable(fault.EnvironmentInvalid, "image", "the runner image "+d.Image+" is no longer here")
	}
	var misfit *machine.Misfit
	if err := p.Machines.Fit(d.Need()); errors.As(err, &misfit) {
		return unstartable(fault.SandboxCapacityUnavailable, partPath(misfit.Part), misfit.Error())
	}
	return nil
}

func unstartable(code fault.Code, param, message string) error {
	e := fault.New(code, "%s", message)
	e.Param = param
	return e
}

func checkRanges(d Definition) error {
	idle := int64(MinIdleStopAfterSeconds)
	if d.ComputerUse {
		idle = MinIdleStopWithComputerUse
	}
	for _, s := range []struct {
		path           string
		value          int64
		least, largest int64
	}{
		{"pvc_size_gi", d.WorkspaceGiB, MinWorkspaceGiB, MaxWorkspaceGiB},
		{"idle_stop_after_seconds", d.IdleStopAfterSeconds, idle, MaxIdleStopAfterSeconds},
		{"stopped_delete_after_seconds", d.StoppedDeleteAfterSeconds, MinStoppedDeleteAfterSeconds, MaxStoppedDeleteAfterSeconds},
	} {
		if s.value == 0 || s.least <= s.value && s.value <= s.largest {
			continue
		}
		e := fault.New(fault.EnvironmentInvalid, "is %d; it must be %d to %d, or 0 for the default", s.value, s.least, s.largest)
		if d.ComputerUse && s.least == MinIdleStopWithComputerUse {
			e.Message += "; computer_use needs at least 600"
		}
		e.Param = s.path
		return e
	}
	return nil
}

// reservedDirs of the workspace are the service's, or the script's to make.
var reservedDirs = []string{".managed-agents", ".venv"}

// within reports whether path is dir or below it.
func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
