package environment_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/fault"
)

// Ledger: GR-2, GR-3, GR-6, GR-7
func TestSizesFitAMachine(t *testing.T) {
	t.Parallel()
	cases := []struct {
		settings string
		param    string
		says     string
		details  string
	}{
		{`"network_policy":{},"resources":{"cpu_milli":8000,"memory_mib":32768}`, "", "", ""},
		{`"resources":{"cpu_milli":4000,"memory_mib":8192}`, "", "", ""},
		{`"network_policy":{},"resources":{"cpu_milli":8000,"memory_mib":65536}`, "resources.memory_mib", "at 8000 millicores; the most available there is 32768 MiB", `{"max_cpu_milli":8000,"max_memory_mib":32768}`},
		{`"network_policy":{},"resources":{"cpu_milli":9000,"memory_mib":1024}`, "resources.cpu_milli", "the most available is 8000 millicores", `{"max_cpu_milli":8000,"max_memory_mib":32768}`},
		{`"resources":{"cpu_milli":8000}`, "resources.cpu_milli", "under a restricted network policy; the most available is 4000 millicores, with up to 8192 MiB", `{"max_cpu_milli":4000,"max_memory_mib":8192}`},
		{`"resources":{"cpu_milli":1000,"memory_mib":32768}`, "resources.memory_mib", "at 1000 millicores under a restricted network policy; the most available there is 8192 MiB", `{"max_cpu_milli":4000,"max_memory_mib":8192}`},
		{`"network_policy":{},"resources":{"accelerator":{"name":"t4"}}`, "", "", ""},
		{`"network_policy":{},"resources":{"accelerator":{"name":"t4"},"cpu_milli":0,"memory_mib":0}`, "", "", ""},
		{`"network_policy":{},"resources":{"accelerator":{"name":"l4"}}`, "resources.accelerator.name", "available models: t4", `{"available_models":["t4"]}`},
		{`"resources":{"accelerator":{"name":"t4"}}`, "resources.accelerator.name", "under a restricted network policy; available models: none", `{"available_models":[]}`},
		{`"network_policy":{},"resources":{"accelerator":{"name":"t4"},"cpu_milli":8000}`, "resources.cpu_milli", "always has 8000", `null`},
		{`"network_policy":{},"resources":{"accelerator":{"name":"t4"},"memory_mib":32768}`, "resources.memory_mib", "always has 32768", `null`},
		{`"network_policy":{},"resources":{"accelerator":{"name":"t4"}},"image":"img_runner"`, "image", "accelerator", `null`},
	}
	for _, c := range cases {
		p, err := environment.ParseCreate([]byte(`{"name":"a","provider":"runs",` + c.settings + `}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = environment.Create(p, rules())
		var e *fault.Error
		if c.param == "" {
			if err != nil {
				t.Errorf("%s: %v", c.settings, err)
			}
			continue
		}
		if !errors.As(err, &e) {
			t.Errorf("%s is accepted", c.settings)
			continue
		}
		details, _ := json.Marshal(e.Details)
		if e.Param != c.param || !strings.Contains(e.Message, c.says) || string(details) != c.details {
			t.Errorf("%s: %v with %s, want %q at %s with %s", c.settings, e, details, c.says, c.param, c.details)
		}
	}
}

// Ledger: SV-42
func TestUnsafeVariables(t *testing.T) {
	t.Parallel()
	unsafe := []string{"BASH_ENV", "HOME", "PYTHONPATH", "LD_PRELOAD", "ENV", "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONSTARTUP", "PYTHONHOME",
		"NODE_OPTIONS", "NODE_PATH", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB", "GIT_SSH_COMMAND", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS",
		"IFS", "CDPATH", "ZDOTDIR", "JAVA_TOOL_OPTIONS"}
	for _, name := range unsafe {
		if got := environment.UnsafeVariables(map[string]string{name: "", "OK": ""}); len(got) != 1 || got[0] != name {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := environment.UnsafeVariables(map[string]string{"A": "1", "home": "x", "PYTHONUNBUFFERED": "1"}); got != nil {
		t.Errorf("harmless ones: %v", got)
	}
	if got := environment.UnsafeVariables(map[string]string{"IFS": "", "ENV": "", "HOME": ""}); strings.Join(got, " ") != "ENV HOME IFS" {
		t.Errorf("order %v", got)
	}
}
