package environment

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/environment/script"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/strict"
)

// Bounds on what can be saved.
const (
	MaxNameRunes           = 256
	MaxMetadataBytes       = 16 << 10 // without white space
	MinSetupTimeoutSeconds = 10
	MaxSetupTimeoutSeconds = 3600
)

// A check looks at some settings together.
type check struct {
	settings []string
	run      func(Definition, Rules) error
}

// checks are in the order in which faults are reported: a provider that
// doesn't exist says nothing about what it can do.
var checks = []check{
	{[]string{"name"}, checkName},
	{[]string{"provider"}, checkProvider},
	{[]string{"network_policy"}, checkPolicy},
	{[]string{"resources"}, checkSizes},
	{[]string{"resources", "image"}, checkAccelerator},
	{[]string{"resources", "network_policy", "provider"}, checkFit},
	{[]string{"pvc_size_gi", "idle_stop_after_seconds", "stopped_delete_after_seconds"}, checkNotNegative},
	{[]string{"setup"}, checkSetup},
	{[]string{"env_vars"}, checkVariables},
	{[]string{"image"}, checkImage},
	{[]string{"metadata"}, checkMetadata},
	{[]string{"steps"}, checkSteps},
	{[]string{"boot_setup"}, checkBootSetup},
	{[]string{"privileged", "steps", "boot_setup", "provider"}, checkFeatures},
}

// Validate says whether a normalised definition can be saved: nil, or the
// *fault.Error of code InvalidRequest about the first thing that is wrong.
//
// What is wrong only when compute starts is left to [CheckStart]: ranges of the
// workspace and of the lifecycle, mounts, and a browser display.
func Validate(d Definition, r Rules) error {
	for _, c := range checks {
		if err := c.run(d, r); err != nil {
			return err
		}
	}
	return nil
}

// validate runs the checks that look at a changed setting.
func validate(d Definition, changes Changes, r Rules) error {
	for _, c := range checks {
		if !changes.Has(c.settings...) {
			continue
		}
		if err := c.run(d, r); err != nil {
			return err
		}
	}
	return nil
}

func checkName(d Definition, _ Rules) error {
	switch n := utf8.RuneCountInString(d.Name); {
	case n == 0:
		return fault.Invalid("name", "is required: 1 to %d characters", MaxNameRunes)
	case n > MaxNameRunes:
		return fault.Invalid("name", "has %d characters; at most %d are allowed", n, MaxNameRunes)
	}
	return nil
}

func checkProvider(d Definition, r Rules) error {
	if _, ok := r.provider(d.Provider); ok {
		return nil
	}
	names := make([]string, len(r.Providers))
	for i, p := range r.Providers {
		names[i] = p.Name
	}
	e := fault.Invalid("provider", "is required: one of %s", strings.Join(names, ", "))
	if d.Provider != "" {
		e = fault.Invalid("provider", "%q is not a provider here; there are %s", d.Provider, strings.Join(names, ", "))
	}
	e.Details = map[string]any{"providers": names}
	return e
}

func checkPolicy(d Definition, _ Rules) error {
	_, err := policy.Compile(d.NetworkPolicy)
	if err == nil {
		return nil
	}
	path, message := "network_policy", err.Error()
	if e := (*policy.Error)(nil); errors.As(err, &e) {
		path, message = strict.Join(path, e.Path), e.Msg
	}
	return fault.Invalid(path, "%s", message)
}

// checkNotNegative is all that a save checks of these (ledger EV-17, EV-18).
func checkNotNegative(d Definition, _ Rules) error {
	for _, s := range []struct {
		path  string
		value int64
	}{
		{"pvc_size_gi", d.WorkspaceGiB},
		{"idle_stop_after_seconds", d.IdleStopAfterSeconds},
		{"stopped_delete_after_seconds", d.StoppedDeleteAfterSeconds},
	} {
		if s.value < 0 {
			return fault.Invalid(s.path, "can't be negative; 0 is the default")
		}
	}
	return nil
}

func checkSetup(d Definition, _ Rules) error {
	text := d.Setup.Script
	switch {
	case len(text) > script.MaxSize:
		return fault.Invalid("setup.script", "has %d bytes; at most %d are allowed", len(text), script.MaxSize)
	case strings.ContainsRune(text, 0):
		return fault.Invalid("setup.script", "has a NUL in line %d", 1+strings.Count(text[:strings.IndexByte(text, 0)], "\n"))
	case d.Setup.TimeoutSeconds != 0 && (d.Setup.TimeoutSeconds < MinSetupTimeoutSeconds || d.Setup.TimeoutSeconds > MaxSetupTimeoutSeconds):
		return timeoutError(d.Setup.TimeoutSeconds)
	}
	return nil
}

func timeoutError(seconds int64) error {
	return fault.Invalid("setup.timeout_seconds", "is %d; it must be %d to %d, or be left out for %d",
		seconds, MinSetupTimeoutSeconds, MaxSetupTimeoutSeconds, DefaultSetupTimeoutSeconds)
}

func checkImage(d Definition, r Rules) error {
	if d.Image == "" || slices.Contains(r.RunnerImages, d.Image) {
		return nil
	}
	return fault.Invalid("image", "must be one of the service's own runner images; leave it out, and customise the sandbox with setup.script")
}

func checkMetadata(d Definition, _ Rules) error {
	switch {
	case len(d.Metadata) == 0:
		return nil
	case d.Metadata[0] != '{':
		return fault.Invalid("metadata", "must be a JSON object")
	case len(d.Metadata) > MaxMetadataBytes:
		return fault.Invalid("metadata", "has %d bytes; at most %d are allowed", len(d.Metadata), MaxMetadataBytes)
	}
	if _, err := number(d.Metadata); err != nil {
		return fault.Invalid("metadata", "must be a JSON object")
	}
	return nil
}

// checkFeatures refuses what the provider can't do and a save can already tell
// (ledger PD-3, EV-4).
func checkFeatures(d Definition, r Rules) error {
	p, ok := r.provider(d.Provider)
	if !ok {
		return nil // checkProvider says so when the provider changes
	}
	for _, f := range []struct {
		setting string
		wanted  bool
		can     bool
	}{
		{"privileged", d.Privileged, p.Privileged},
		{"steps", len(d.Steps) > 0, p.Steps},
		{"boot_setup", len(d.BootSetup) > 0, p.BootSetup},
	} {
		if f.wanted && !f.can {
			return fault.Invalid(f.setting, "is not available with the provider %s on this service", p.Name)
		}
	}
	return nil
}

// element joins an index to the path of a list.
func element(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
