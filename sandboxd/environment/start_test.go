package environment_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/fault"
)

// All of these can be saved; compute starts from those without a code.
//
// Ledger: EV-17, CU-3, FM-2, FM-3, FM-4, FM-7
func TestCheckStart(t *testing.T) {
	t.Parallel()
	mounts := func(paths ...string) string {
		var list []string
		for _, p := range paths {
			list = append(list, fmt.Sprintf(`{"source":"https://data.example.com/x","mount_path":%q}`, p))
		}
		return `"mounts":[` + strings.Join(list, ",") + `]`
	}
	source := func(s string) string { return fmt.Sprintf(`"mounts":[{"source":%q,"mount_path":"a"}]`, s) }
	const invalid, mount = fault.EnvironmentInvalid, environment.MountFailed
	cases := []struct {
		settings string
		code     fault.Code
		param    string
	}{
		{`"description":""`, "", ""},
		{`"idle_stop_after_seconds":0`, "", ""},
		{`"idle_stop_after_seconds":119`, invalid, "idle_stop_after_seconds"},
		{`"idle_stop_after_seconds":120`, "", ""},
		{`"idle_stop_after_seconds":2592000`, "", ""},
		{`"idle_stop_after_seconds":2592001`, invalid, "idle_stop_after_seconds"},
		{`"idle_stop_after_seconds":599,"computer_use":true`, invalid, "idle_stop_after_seconds"},
		{`"idle_stop_after_seconds":600,"computer_use":true`, "", ""},
		{`"idle_stop_after_seconds":0,"computer_use":true`, "", ""},
		{`"stopped_delete_after_seconds":3599`, invalid, "stopped_delete_after_seconds"},
		{`"stopped_delete_after_seconds":3600`, "", ""},
		{`"stopped_delete_after_seconds":2592000`, "", ""},
		{`"stopped_delete_after_seconds":2592001`, invalid, "stopped_delete_after_seconds"},
		{`"pvc_size_gi":1`, "", ""},
		{`"pvc_size_gi":1000`, "", ""},
		{`"pvc_size_gi":1001`, invalid, "pvc_size_gi"},
		{mounts("a", "b/c", "b/d", "b.c", "a-b"), "", ""},
		{mounts("a", "a"), mount, "mounts[1].mount_path"},
		{mounts("x", "a/b/c", "a"), mount, "mounts[2].mount_path"},
		{mounts("a", "a!", "a/b"), mount, "mounts[2].mount_path"},
		{mounts(""), mount, "mounts[0].mount_path"},
		{mounts("/etc/x"), mount, "mounts[0].mount_path"},
		{mounts("ok", "a/"), mount, "mounts[1].mount_path"},
		{mounts("a/../b"), mount, "mounts[0].mount_path"},
		{mounts(".."), mount, "mounts[0].mount_path"},
		{mounts("a..b"), "", ""},
		{mounts("a//b"), mount, "mounts[0].mount_path"},
		{mounts("./a"), mount, "mounts[0].mount_path"},
		{mounts(".venv/x"), mount, "mounts[0].mount_path"},
		{mounts(".managed-agents/outputs/x"), mount, "mounts[0].mount_path"},
		{mounts(".venvs/x"), "", ""},
		{mounts(strings.Repeat("x", 256)), mount, "mounts[0].mount_path"},
		{source("https://data.example.com:8443/a?b=c"), "", ""},
		{source("http://data.example.com/a"), mount, "mounts[0].source"},
		{source("file:///etc/passwd"), mount, "mounts[0].source"},
		{source("data:,x"), mount, "mounts[0].source"},
		{source("https:///a"), mount, "mounts[0].source"},
		{source("https:a"), mount, "mounts[0].source"},
		{source("https://user:pw@data.example.com/a"), mount, "mounts[0].source"},
		{source("https://127.1/a"), mount, "mounts[0].source"},
		{source("https://a b/"), mount, "mounts[0].source"},
		{source(""), mount, "mounts[0].source"},
	}
	for _, c := range cases {
		d := create(t, `{"name":"a","provider":"runs",`+c.settings+`}`)
		err := environment.CheckStart(d, rules())
		if fault.CodeOf(err) != c.code || param(err) != c.param {
			t.Errorf("%s: %q at %q (%v), want %q at %q", c.settings, fault.CodeOf(err), param(err), err, c.code, c.param)
		}
	}
}

// What a service loses after the save is found at the start.
//
// Ledger: PD-3
func TestCheckStartFindsWhatIsGone(t *testing.T) {
	t.Parallel()
	d := create(t, `{"name":"a","provider":"runs","privileged":true,"computer_use":true,"image":"img_runner","resources":{"cpu_milli":4000}}`)
	lose := map[fault.Code]func(*environment.Rules){
		environment.PrivilegedUnavailable: func(r *environment.Rules) { r.Providers[0].Privileged = false },
		fault.SandboxCapacityUnavailable:  func(r *environment.Rules) { r.Providers[0].Machines = nil },
		fault.EnvironmentInvalid:          func(r *environment.Rules) { r.RunnerImages = nil },
		"":                                func(*environment.Rules) {},
	}
	for code, change := range lose {
		r := rules()
		change(&r)
		if err := environment.CheckStart(d, r); fault.CodeOf(err) != code {
			t.Errorf("%v, want %q", err, code)
		}
	}
	for _, change := range []func(*environment.Rules){
		func(r *environment.Rules) { r.Providers = r.Providers[1:] },
		func(r *environment.Rules) { r.Providers[0].ComputerUse = false },
	} {
		r := rules()
		change(&r)
		if err := environment.CheckStart(d, r); fault.CodeOf(err) != fault.EnvironmentInvalid {
			t.Errorf("%v", err)
		}
	}
}
