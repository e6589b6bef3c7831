package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/machine"
)

// defaultProvider is the runtime of environments that name none.
const defaultProvider = "runs"

// settingFlags are the settings of an environment that have flags. A flag wins
// over the file.
type settingFlags struct {
	cmd  *cobra.Command
	file string

	name, provider, description, image string

	size          string
	cpuMilli      int64
	memoryMiB     int64
	disk          int64
	script        string
	setupTimeout  time.Duration
	policy        string
	unrestricted  bool
	noInternet    bool
	env           []string
	privileged    bool
	computerUse   bool
	idleStop      time.Duration
	stoppedDelete time.Duration
}

func addSettingFlags(cmd *cobra.Command) *settingFlags {
	f := &settingFlags{cmd: cmd}
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "settings in `FILE`, YAML or JSON; - is standard input")
	flags.StringVar(&f.name, "name", "", "`NAME` that lists show")
	flags.StringVar(&f.provider, "provider", "", "`NAME` of a runtime, see \"sallyport provider list\" (default "+defaultProvider+")")
	flags.StringVar(&f.description, "description", "", "`TEXT` for people; no sandbox sees it")
	flags.StringVar(&f.image, "image", "", "`NAME` of one of the service's own images")
	flags.StringVar(&f.size, "size", "", "compute by `NAME`: "+sizesHelp())
	flags.Int64Var(&f.cpuMilli, "cpu-milli", 0, "thousandths of a processor, in steps of "+fmt.Sprint(machine.StepCPUMilli))
	flags.Int64Var(&f.memoryMiB, "memory-mib", 0, "memory in MiB, in steps of "+fmt.Sprint(machine.StepMemoryMiB))
	flags.Int64Var(&f.disk, "disk-gib", 0, "workspace disk in GiB")
	flags.StringVar(&f.script, "script", "", "setup script in `FILE`; - is standard input")
	flags.DurationVar(&f.setupTimeout, "setup-timeout", 0, "end the setup script after `DURATION`")
	flags.StringVar(&f.policy, "policy", "", "network policy in `FILE`; - is standard input")
	flags.BoolVar(&f.unrestricted, "unrestricted", false, "let sandboxes reach every host")
	flags.BoolVar(&f.noInternet, "no-internet", false, "let sandboxes reach no host, as a new environment does")
	flags.StringArrayVar(&f.env, "env", nil, "variable `K=V` of its sandboxes; replaces all of them. Never a secret")
	flags.BoolVar(&f.privileged, "privileged", false, "let sandboxes run containers")
	flags.BoolVar(&f.computerUse, "computer-use", false, "give sandboxes a browser display")
	flags.DurationVar(&f.idleStop, "idle-stop", 0, "stop an idle sandbox after `DURATION`; 0 is the default")
	flags.DurationVar(&f.stoppedDelete, "stopped-delete", 0, "delete a stopped sandbox after `DURATION`; 0 is the default")
	cmd.MarkFlagsMutuallyExclusive("policy", "unrestricted", "no-internet")
	cmd.MarkFlagsMutuallyExclusive("size", "cpu-milli")
	cmd.MarkFlagsMutuallyExclusive("size", "memory-mib")
	_ = cmd.MarkFlagFilename("file", "yaml", "yml", "json")
	_ = cmd.MarkFlagFilename("policy", "yaml", "yml", "json")
	_ = cmd.MarkFlagFilename("script", "sh")
	var names []cobra.Completion
	for _, s := range machine.Shortcuts() {
		names = append(names, strings.ToLower(s.Name))
	}
	_ = cmd.RegisterFlagCompletionFunc("size", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return f
}

// sizesHelp lists the named sizes (ledger GR-5).
func sizesHelp() string {
	var all []string
	for _, s := range machine.Shortcuts() {
		all = append(all, fmt.Sprintf("%s (%d/%d)", strings.ToLower(s.Name), s.Size.CPUMilli, s.Size.MemoryMiB))
	}
	return strings.Join(all, ", ")
}

func (f *settingFlags) given(name string) bool { return f.cmd.Flags().Changed(name) }

// read returns the settings of the file with those of the flags over them.
func (f *settingFlags) read() (settings, error) {
	if err := f.oneStandardInput(); err != nil {
		return nil, err
	}
	s := settings{}
	if f.file != "" {
		var err error
		if s, err = readSettings(f.cmd, f.file); err != nil {
			return nil, err
		}
	}
	for flag, setting := range map[string]struct {
		name  string
		value any
	}{
		"name": {"name", f.name}, "provider": {"provider", f.provider}, "description": {"description", f.description},
		"image": {"image", f.image}, "disk-gib": {"pvc_size_gi", f.disk}, "privileged": {"privileged", f.privileged},
		"computer-use": {"computer_use", f.computerUse},
		"idle-stop":    {"idle_stop_after_seconds", int64(f.idleStop.Seconds())},
		// Whole seconds; the API has no others.
		"stopped-delete": {"stopped_delete_after_seconds", int64(f.stoppedDelete.Seconds())},
	} {
		if f.given(flag) {
			if err := s.set(setting.name, setting.value); err != nil {
				return nil, err
			}
		}
	}
	return s, errors.Join(f.resources(s), f.setup(s), f.networkPolicy(s), f.envVars(s))
}

// oneStandardInput refuses two readers of it.
func (f *settingFlags) oneStandardInput() error {
	n := 0
	for _, file := range []string{f.file, f.script, f.policy} {
		if file == "-" {
			n++
		}
	}
	if n > 1 {
		return usageErrorf("only one of --file, --script and --policy can be standard input")
	}
	return nil
}

func (f *settingFlags) resources(s settings) error {
	if f.given("size") {
		for _, c := range machine.Shortcuts() {
			if strings.EqualFold(c.Name, f.size) {
				return s.set("resources", resourcesBody{c.Size.CPUMilli, c.Size.MemoryMiB})
			}
		}
		return usageErrorf("--size: %q is none of %s", f.size, sizesHelp())
	}
	if !f.given("cpu-milli") && !f.given("memory-mib") {
		return nil
	}
	var r map[string]any
	if data, ok := s["resources"]; ok {
		if err := json.Unmarshal(data, &r); err != nil {
			return fmt.Errorf("resources: %w", err)
		}
	}
	if r == nil {
		r = map[string]any{}
	}
	if f.given("cpu-milli") {
		r["cpu_milli"] = f.cpuMilli
	}
	if f.given("memory-mib") {
		r["memory_mib"] = f.memoryMiB
	}
	return s.set("resources", r)
}

// setup replaces the whole of it, as the API does (ledger EV-8).
func (f *settingFlags) setup(s settings) error {
	if !f.given("script") && !f.given("setup-timeout") {
		return nil
	}
	if !f.given("script") {
		var saved struct {
			Script *string `json:"script"`
		}
		if err := json.Unmarshal(s["setup"], &saved); err != nil || saved.Script == nil {
			return usageErrorf("--setup-timeout goes with a script: add --script, or setup.script to the file")
		}
		return s.set("setup", setupBody{*saved.Script, int64(f.setupTimeout.Seconds())})
	}
	script, err := readInput(f.cmd, f.script)
	if err != nil {
		return err
	}
	return s.set("setup", setupBody{string(script), int64(f.setupTimeout.Seconds())})
}

// setupBody is "setup" of the API.
type setupBody struct {
	Script         string `json:"script"`
	TimeoutSeconds int64  `json:"timeout_seconds,omitempty"`
}

func (f *settingFlags) networkPolicy(s settings) error {
	switch {
	case f.unrestricted:
		return s.set("network_policy", policy.Document{Unrestricted: true})
	case f.noInternet:
		return s.set("network_policy", nil)
	case f.policy == "":
		return nil
	}
	doc, err := readPolicy(f.cmd, f.policy)
	if err != nil {
		return err
	}
	return s.set("network_policy", doc)
}

func (f *settingFlags) envVars(s settings) error {
	if !f.given("env") {
		return nil
	}
	vars := map[string]string{}
	for _, kv := range f.env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok && kv != "" {
			return usageErrorf("--env: expected K=V, not %q", kv)
		}
		if ok {
			vars[name] = value
		}
	}
	return s.set("env_vars", vars)
}
