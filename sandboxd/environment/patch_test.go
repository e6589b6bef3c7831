package environment_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/environment/script"
	"github.com/sallyport/sallyport/sandboxd/fault"
)

// whole is a definition with every field set.
const whole = `{
	"name":"a","provider":"runs","description":"d","resources":{"cpu_milli":1000,"memory_mib":2048},"pvc_size_gi":20,
	"setup":{"script":"echo a\n","timeout_seconds":60},
	"network_policy":{"version":"v1","rules":[{"match":{"host_glob":"*.example.com"},"action":{"type":"allow"}}]},
	"privileged":true,"computer_use":true,"idle_stop_after_seconds":600,"stopped_delete_after_seconds":7200,
	"env_vars":{"A":"1"},"mounts":[{"source":"https://data.example.com/a","mount_path":"a"}],
	"image":"img_runner","metadata":{"b":1.0,"a":[null]},"steps":["RUN true"],
	"boot_setup":[{"name":"deps","commands":["npm ci"],"cache":{"key":"k","paths":["/home/user/.npm"],"files":["package-lock.json"]}}]
}`

func create(t *testing.T, body string) environment.Definition {
	t.Helper()
	p, err := environment.ParseCreate([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	d, err := environment.Create(p, rules())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func patch(t *testing.T, body string) environment.Patch {
	t.Helper()
	p, err := environment.ParseUpdate([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Each field: another value, the value in other words, and null.
//
// Ledger: EV-7, EV-8, EV-9, EV-15, NP-10, NP-12, NP-26, NP-34
// Ledger: SV-34, SV-35, SV-36, GR-4, PD-2, CU-5
func TestEveryChange(t *testing.T) {
	t.Parallel()
	d := create(t, whole)
	cases := []struct {
		name    string
		other   string
		same    string
		stale   bool
		atReset any // of the Go field after null; nil: null is refused
	}{
		{"name", `"b"`, `"a"`, false, nil},
		{"provider", `"plain"`, `"runs"`, true, nil},
		{"description", `"e"`, `"d"`, false, ""},
		{"resources", `{"cpu_milli":2000,"memory_mib":2048}`, `{"memory_mib":2048,"cpu_milli":1000}`, true, environment.Resources{}},
		{"pvc_size_gi", `21`, `20`, true, int64(0)},
		{"setup", `{"script":"echo a"}`, `{"timeout_seconds":60,"script":"echo a\r\n \n"}`, true, environment.Setup{}},
		{"network_policy", `{"version":"v1","rules":[]}`, `{"rules":[{"action":{"type":"allow"},"match":{"host_glob":"*.example.com"}}], "version":"v1"}`, true, policy.Document{}},
		{"privileged", `false`, `true`, true, false},
		{"computer_use", `false`, `true`, false, false},
		{"idle_stop_after_seconds", `700`, `600`, false, int64(0)},
		{"stopped_delete_after_seconds", `7201`, `7200`, false, int64(0)},
		{"env_vars", `{"A":"1","B":"2"}`, `{"A":"1"}`, true, map[string]string(nil)},
		{"mounts", `[]`, `[{"mount_path":"a","source":"https://data.example.com/a"}]`, true, []environment.Mount(nil)},
		{"image", `""`, `"img_runner"`, true, ""},
		{"metadata", `{"a":[null],"b":1}`, `{"a":[ null ],"b":1.0}`, false, json.RawMessage(nil)},
		{"steps", `["RUN false"]`, `["RUN true"]`, true, []string(nil)},
		{"boot_setup", `[{"name":"deps","commands":["npm ci"]}]`, `[{"cache":{"files":["package-lock.json"],"paths":["/home/user/.npm"],"key":"k"},"name":"deps","commands":["npm ci"]}]`, true, []environment.BootStep(nil)},
	}
	if n := reflect.TypeFor[environment.Definition]().NumField(); len(cases) != n {
		t.Fatalf("%d cases for %d fields", len(cases), n)
	}
	before, fields := environment.Fingerprint(d), reflect.ValueOf(d)
	for i, c := range cases {
		next, changes := environment.Apply(d, patch(t, `{"`+c.name+`":`+c.same+`}`))
		if changes.Any() || environment.Fingerprint(next) != before {
			t.Errorf("%s: the same value changes %v", c.name, changes)
		}
		next, changes = environment.Apply(d, patch(t, `{"`+c.name+`":`+c.other+`}`))
		if !slices.Equal(changes, environment.Changes{c.name}) || changes.Stale() != c.stale {
			t.Errorf("%s: changes %v, stale %v", c.name, changes, changes.Stale())
		}
		if stale := environment.Fingerprint(next) != before; stale != c.stale {
			t.Errorf("%s: stale %v", c.name, stale)
		}
		others(t, c.name, i, fields, reflect.ValueOf(next))
		back, _ := environment.Apply(next, environment.Patch{})
		back, _ = environment.Apply(back, patch(t, `{"`+c.name+`":`+c.same+`}`))
		if environment.Fingerprint(back) != before {
			t.Errorf("%s: reverting doesn't bring back the fingerprint", c.name)
		}
		reset, _ := environment.Apply(d, patch(t, `{"`+c.name+`":null}`))
		_, _, err := environment.Update(d, patch(t, `{"`+c.name+`":null,"expected_access":`+access(d)+`}`), rules())
		switch {
		case c.atReset == nil && (err == nil || param(err) != c.name):
			t.Errorf("%s: null gives %v", c.name, err)
		case c.atReset != nil && (err != nil || !reflect.DeepEqual(reflect.ValueOf(reset).Field(i).Interface(), c.atReset)):
			t.Errorf("%s: null sets %#v, %v", c.name, reflect.ValueOf(reset).Field(i).Interface(), err)
		}
	}
}

// others wants every field but one as it was.
func others(t *testing.T, name string, but int, before, after reflect.Value) {
	t.Helper()
	for i := range before.NumField() {
		if i != but && !reflect.DeepEqual(before.Field(i).Interface(), after.Field(i).Interface()) {
			t.Errorf("%s also changes %s", name, before.Type().Field(i).Name)
		}
	}
}

func access(d environment.Definition) string {
	data, err := json.Marshal(map[string]any{"network_policy": d.NetworkPolicy, "privileged": d.Privileged})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func param(err error) string {
	var e *fault.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Param
}

// Ledger: SV-36
func TestFingerprintSeesCachesButNoCommands(t *testing.T) {
	t.Parallel()
	of := func(boot string) string {
		return environment.Fingerprint(create(t, `{"name":"a","provider":"runs","boot_setup":`+boot+`}`))
	}
	base := of(`[{"name":"deps","commands":["npm ci"],"cache":{"paths":["/home/user/a"]}}]`)
	for boot, same := range map[string]bool{
		`[{"name":"deps","commands":["npm install"],"cache":{"paths":["/home/user/a"]}}]`:                           true,
		`[{"name":"other","commands":["npm ci"],"cache":{"key":"deps","paths":["/home/user/a"]}}]`:                  true,
		`[{"name":"deps","commands":["npm ci"],"cache":{"paths":["/home/user/a"]}},{"name":"b","commands":["ls"]}]`: true,
		`[{"name":"other","commands":["npm ci"],"cache":{"paths":["/home/user/a"]}}]`:                               false,
		`[{"name":"deps","commands":["npm ci"],"cache":{"paths":["/home/user/a"],"files":["x"]}}]`:                  false,
		`[]`: false,
	} {
		if (of(boot) == base) != same {
			t.Errorf("%s: equal is %v", boot, !same)
		}
	}
	explicit := environment.Fingerprint(create(t, `{"name":"a","provider":"runs","pvc_size_gi":10,"setup":{"script":"true","timeout_seconds":600}}`))
	if left := environment.Fingerprint(create(t, `{"name":"b","provider":"runs","setup":{"script":"true"}}`)); left != explicit {
		t.Error("a default that is spelt out is another configuration")
	}
}

// Ledger: NP-9, EV-16, SV-1, SV-3
func TestDefaults(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"name":"a","provider":"runs"}`, `{"name":"a","provider":"runs","network_policy":null,"privileged":null,"setup":null,"metadata":null,"resources":null}`} {
		d := create(t, body)
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		const want = `{"name":"a","provider":"runs","network_policy":{"version":"v1","rules":[]},"privileged":false}`
		if string(data) != want {
			t.Errorf("%s is saved as %s", body, data)
		}
		if d.IdleStop() != 1800 || d.StoppedDelete() != 604800 || d.Workspace() != 10 {
			t.Errorf("defaults %d %d %d", d.IdleStop(), d.StoppedDelete(), d.Workspace())
		}
	}
	if d := create(t, `{"name":"a","provider":"runs","setup":{"script":"true"}}`); d.Setup != (environment.Setup{Script: "true\n", TimeoutSeconds: 600}) {
		t.Errorf("setup %+v", d.Setup)
	}
}

// An update is refused only for what it changes.
//
// Ledger: EV-4, GR-3, PD-3
func TestUpdateChecksWhatItChanges(t *testing.T) {
	t.Parallel()
	saved := create(t, `{"name":"a","provider":"runs","network_policy":{},"resources":{"cpu_milli":8000,"memory_mib":32768},"image":"img_runner"}`)
	shrunk := rules()
	shrunk.RunnerImages = nil
	shrunk.Providers[0].Machines = shrunk.Providers[0].Machines[:1]
	cases := []struct {
		body  string
		rules environment.Rules
		param string
	}{
		{`{"name":"b"}`, shrunk, ""},
		{`{"env_vars":{"A":"1"}}`, shrunk, ""},
		{`{"resources":{"cpu_milli":8000}}`, shrunk, "resources.cpu_milli"},
		{`{"image":"img_other"}`, shrunk, "image"},
		{`{"network_policy":null}`, rules(), "resources.cpu_milli"},
		{`{"network_policy":null,"resources":null}`, rules(), ""},
		{`{"provider":"plain"}`, rules(), "resources.cpu_milli"},
		{`{"provider":"plain","resources":null}`, rules(), ""},
		{`{"provider":"plain","resources":null,"privileged":true,"expected_access":{"network_policy":{},"privileged":false}}`, rules(), "privileged"},
	}
	for _, c := range cases {
		_, _, err := environment.Update(saved, patch(t, c.body), c.rules)
		if (err == nil) != (c.param == "") || param(err) != c.param {
			t.Errorf("%s: %v, want an error at %q", c.body, err, c.param)
		}
	}
	if err := environment.Validate(saved, shrunk); err == nil {
		t.Error("Validate checks less than everything")
	}
}

// Ledger: EV-10
func TestServiceSetFieldsAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"organization_id", "environment_id", "scope", "http_port", "setup_verification", "setup_warnings",
		"setup_updated_at", "setup_updated_by_user_id", "created_at", "updated_at"} {
		for _, update := range []bool{false, true} {
			err := try([]byte(`{"name":"a","provider":"runs","`+name+`":null}`), update)
			if param(err) != name || !strings.Contains(err.Error(), "set by the service") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if err := try([]byte(`{"name":"a","provider":"runs","expected_access":null}`), false); param(err) != "expected_access" {
		t.Errorf("a create takes expected_access: %v", err)
	}
}

// Ledger: SV-46
func TestImportSetup(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`["npm ci"]`:                             script.LegacySetupDiscarded,
		`[{"name":"a","commands":["b"]}]`:        script.LegacySetupDiscarded,
		` [1, 2]`:                                script.LegacySetupDiscarded,
		`[null]`:                                 script.LegacySetupDiscarded,
		`[{"run":"x"},{"run":"y"}]`:              script.LegacySetupDiscarded,
		`[]`:                                     "",
		`{}`:                                     "",
		`{"script":""}`:                          "",
		`{"script":"true"}`:                      "",
		`{"script":"true","timeout_seconds":20}`: "",
		`{"script":"rm -rf /"}`:                  script.RmRfRoot,
	} {
		s, warnings, err := environment.ImportSetup([]byte(data))
		code := ""
		for _, w := range warnings {
			code += w.Code
		}
		if err != nil || code != want || code == script.LegacySetupDiscarded && s != (environment.Setup{}) {
			t.Errorf("%s: %+v %v %v", data, s, warnings, err)
		}
	}
	for _, data := range []string{`"x"`, `null`, `{"commands":[]}`, ``, `{"script":1}`} {
		if _, _, err := environment.ImportSetup([]byte(data)); err == nil {
			t.Errorf("%s is read", data)
		}
	}
}
