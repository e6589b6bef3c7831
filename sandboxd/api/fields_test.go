package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A value is one JSON text for a field: the status that it gets, and the path
// that an error names.
type value struct {
	json   string
	status int    // 200: it is saved
	param  string // of an error; empty: the field's own name
}

// A field is a setting with what it may and may not be.
type field struct {
	name   string
	null   int // the status of null
	values []value
}

const ok, bad = 200, 400

func strs(n int) string { return `"` + strings.Repeat("ä", n) + `"` }

func many(n int, item func(int) string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item(i)
	}
	return strings.Join(items, ",")
}

func rules(n int) string {
	return `{"version":"v1","rules":[` + many(n, func(i int) string {
		return fmt.Sprintf(`{"match":{"host_glob":"h%d.example.com"},"action":{"type":"allow"}}`, i)
	}) + `]}`
}

func rule(match, action string) string {
	return `{"version":"v1","rules":[{"match":` + match + `,"action":` + action + `}]}`
}

// wrong are the types that a field isn't of.
func wrong(except string) []value {
	var values []value
	for kind, text := range map[string]string{"string": `"x"`, "number": `7`, "float": `1.5`, "bool": `true`, "object": `{"x":1}`, "array": `[1]`} {
		if kind != except && (except != "number" || kind != "float") {
			values = append(values, value{text, bad, ""})
		}
	}
	if except == "number" {
		values = append(values, value{"1.5", bad, ""}, value{"-1", bad, ""}, value{"1e400", bad, ""}, value{"9223372036854775808", bad, ""})
	}
	return values
}

// fields are all settings, with each bound and one past it.
// Ledger: EV-1, EV-2, EV-3, EV-6, EV-10, EV-16, EV-17, EV-18, EV-19, EV-21, NP-1 to NP-9, NP-13, SV-1, SV-3, GR-1, GR-6, GR-7, AP-1
var fields = []field{
	{"name", bad, append(wrong("string"), value{strs(1), ok, ""}, value{strs(256), ok, ""}, value{`""`, bad, ""}, value{strs(257), bad, ""}, value{`" x "`, ok, ""})},
	{"provider", bad, append(wrong("string"), value{`"runs"`, ok, ""}, value{`""`, bad, ""}, value{`"x"`, bad, ""}, value{`"Runs"`, bad, ""})},
	{"description", ok, append(wrong("string"), value{`""`, ok, ""}, value{`"d"`, ok, ""})},
	{"pvc_size_gi", ok, append(wrong("number"), value{"0", ok, ""}, value{"1", ok, ""}, value{"1000", ok, ""}, value{"1001", ok, ""})},
	{"idle_stop_after_seconds", ok, append(wrong("number"), value{"0", ok, ""}, value{"119", ok, ""}, value{"2592001", ok, ""})},
	{"stopped_delete_after_seconds", ok, append(wrong("number"), value{"0", ok, ""}, value{"3599", ok, ""}, value{"2592001", ok, ""})},
	{"privileged", ok, append(wrong("bool"), value{"false", ok, ""})},
	{"computer_use", ok, append(wrong("bool"), value{"true", ok, ""}, value{"false", ok, ""})},
	{"image", ok, append(wrong("string"), value{`"img_unknown"`, bad, ""}, value{`"debian:12"`, bad, ""}, value{`"host"`, ok, ""}, value{`"runner"`, ok, ""})},
	{"metadata", ok, append(wrong("object"), value{`{}`, ok, ""}, value{`{"a":[1,{"b":null}]}`, ok, ""}, value{`{"a":1,"a":2}`, bad, "metadata.a"},
		value{`{"a":"` + strings.Repeat("x", 16<<10-8) + `"}`, ok, ""}, value{`{"a":"` + strings.Repeat("x", 16<<10-7) + `"}`, bad, ""})},
	{"resources", ok, append(wrong("object"), value{`{}`, ok, ""},
		value{`{"x":1}`, bad, "resources.x"}, value{`{"cpu_milli":250}`, ok, ""}, value{`{"cpu_milli":0}`, ok, ""}, value{`{"cpu_milli":249}`, bad, "resources.cpu_milli"},
		value{`{"cpu_milli":-1}`, bad, "resources.cpu_milli"}, value{`{"cpu_milli":"1"}`, bad, "resources.cpu_milli"}, value{`{"cpu_milli":1.5}`, bad, "resources.cpu_milli"},
		value{`{"cpu_milli":null,"memory_mib":null}`, ok, ""}, value{`{"memory_mib":1024}`, ok, ""}, value{`{"memory_mib":1023}`, bad, "resources.memory_mib"},
		value{`{"cpu_milli":8000}`, ok, ""}, value{`{"cpu_milli":8001}`, bad, "resources.cpu_milli"},
		value{`{"cpu_milli":4000,"memory_mib":65536}`, ok, ""}, value{`{"cpu_milli":4000,"memory_mib":65537}`, bad, "resources.memory_mib"},
		value{`{"accelerator":{"type":"gpu","name":"l4","count":1}}`, ok, ""}, value{`{"accelerator":{"name":"l4"}}`, ok, ""},
		value{`{"accelerator":{"name":"a100"}}`, bad, "resources.accelerator.name"}, value{`{"accelerator":{"name":"l4","count":2}}`, bad, "resources.accelerator.count"},
		value{`{"accelerator":{"name":"l4","count":0}}`, bad, "resources.accelerator.count"}, value{`{"accelerator":{"name":"l4","type":"tpu"}}`, bad, "resources.accelerator.type"},
		value{`{"accelerator":{}}`, bad, "resources.accelerator.name"}, value{`{"accelerator":{"name":"l4","x":1}}`, bad, "resources.accelerator.x"},
		value{`{"cpu_milli":8000,"accelerator":{"name":"l4"}}`, bad, "resources.cpu_milli"}, value{`{"memory_mib":32768,"accelerator":{"name":"l4"}}`, bad, "resources.memory_mib"})},
	{"setup", ok, append(wrong("object"), value{`{}`, ok, ""}, value{`{"script":""}`, ok, ""}, value{`{"script":"true"}`, ok, ""}, value{`{"script":null}`, ok, ""},
		value{`{"script":"` + strings.Repeat("x", 64<<10-1) + `"}`, ok, ""}, value{`{"script":"` + strings.Repeat("x", 64<<10) + `"}`, bad, "setup.script"},
		value{`{"script":"a\u0000b"}`, bad, "setup.script"}, value{`{"script":3}`, bad, "setup.script"}, value{`{"script":"a","x":1}`, bad, "setup.x"},
		value{`{"script":"a","timeout_seconds":10}`, ok, ""}, value{`{"script":"a","timeout_seconds":9}`, bad, "setup.timeout_seconds"},
		value{`{"script":"a","timeout_seconds":3600}`, ok, ""}, value{`{"script":"a","timeout_seconds":3601}`, bad, "setup.timeout_seconds"},
		value{`{"script":"a","timeout_seconds":0}`, bad, "setup.timeout_seconds"}, value{`{"script":"a","timeout_seconds":"600"}`, bad, "setup.timeout_seconds"})},
	{"network_policy", ok, append(wrong("object"), value{`{}`, ok, ""}, value{rules(0), ok, ""}, value{rules(200), ok, ""}, value{rules(201), bad, "network_policy.rules"},
		value{`{"version":"v1"}`, bad, "network_policy.rules"}, value{`{"rules":[]}`, bad, "network_policy.version"}, value{`{"version":"v2","rules":[]}`, bad, "network_policy.version"},
		value{`{"version":"v1","rules":null}`, bad, "network_policy.rules"}, value{`{"version":null,"rules":[]}`, bad, "network_policy.version"},
		value{`{"version":"v1","rules":[],"x":1}`, bad, "network_policy.x"}, value{`{"version":"v1","rules":[],"rules":[]}`, bad, "network_policy.rules"},
		value{rule(`{"host_glob":"a.test"}`, `{"type":"allow"}`), ok, ""}, value{rule(`{"host_glob":"a.test","x":1}`, `{"type":"allow"}`), bad, "network_policy.rules[0].match.x"},
		value{rule(`{"host_glob":""}`, `{"type":"allow"}`), bad, "network_policy.rules[0].match.host_glob"}, value{rule(`{}`, `{"type":"allow"}`), bad, "network_policy.rules[0].match.host_glob"},
		value{rule(`{"host_glob":3}`, `{"type":"allow"}`), bad, "network_policy.rules[0].match.host_glob"}, value{rule(`{"host_glob":"`+strings.Repeat("a.", 127)+`"}`, `{"type":"allow"}`), bad, "network_policy.rules[0].match.host_glob"},
		value{rule(`{"host_glob":"a.test"}`, `{"type":"Allow"}`), bad, "network_policy.rules[0].action.type"}, value{rule(`{"host_glob":"a.test"}`, `{}`), bad, "network_policy.rules[0].action.type"},
		value{rule(`{"host_glob":"a.test"}`, `{"type":"allow","port":443}`), bad, "network_policy.rules[0].action.port"})},
	{"env_vars", ok, append(wrong("object"), value{`{}`, ok, ""}, value{`{"A":"1"}`, ok, ""}, value{`{"_a1":""}`, ok, ""}, value{`{"A":1}`, bad, "env_vars.A"}, value{`{"A":null}`, bad, "env_vars.A"},
		value{`{"PATH":"/bin"}`, bad, "env_vars.PATH"}, value{`{"1A":"x"}`, bad, "env_vars.1A"}, value{`{"":"x"}`, bad, `env_vars[""]`}, value{`{"A-B":"x"}`, bad, "env_vars.A-B"},
		value{`{"A":"a\u0000"}`, bad, "env_vars.A"}, value{`{"A":"1","A":"2"}`, bad, "env_vars.A"}, value{`{"HTTPS_PROXY":"x"}`, bad, "env_vars.HTTPS_PROXY"},
		value{`{` + many(100, func(i int) string { return fmt.Sprintf(`"V%d":"x"`, i) }) + `}`, ok, ""}, value{`{` + many(101, func(i int) string { return fmt.Sprintf(`"V%d":"x"`, i) }) + `}`, bad, ""},
		value{`{"A":"` + strings.Repeat("x", 64<<10-1) + `"}`, ok, ""}, value{`{"A":"` + strings.Repeat("x", 64<<10) + `"}`, bad, ""})},
	{"mounts", ok, append(wrong("array"), value{`[]`, ok, ""}, value{`[{"source":"https://example.com/a","mount_path":"a"}]`, ok, ""}, value{`[{"source":"http://example.com/a","mount_path":"../a"}]`, ok, ""},
		value{`[{"source":"https://example.com/a"}]`, bad, "mounts[0].mount_path"}, value{`[{"mount_path":"a"}]`, bad, "mounts[0].source"}, value{`[{"source":"https://example.com/a","mount_path":"a","x":1}]`, bad, "mounts[0].x"},
		value{`[{"source":1,"mount_path":"a"}]`, bad, "mounts[0].source"}, value{`[null]`, bad, "mounts[0]"}, value{`[1]`, bad, "mounts[0]"})},
	{"steps", ok, append(wrong("array"), value{`[]`, ok, ""}, value{`["RUN apt-get update"]`, ok, ""}, value{`["apt-get update"]`, bad, "steps[0]"}, value{`[1]`, bad, "steps[0]"}, value{`[null]`, bad, "steps[0]"}, value{`["a\u0000"]`, bad, "steps[0]"})},
	{"boot_setup", ok, append(wrong("array"), value{`[]`, ok, ""}, value{`[{"name":"a","commands":["true"]}]`, ok, ""}, value{`[{"name":"a"}]`, bad, "boot_setup[0].commands"}, value{`[{"commands":["true"]}]`, bad, "boot_setup[0].name"},
		value{`[{"name":"a","commands":["true"],"x":1}]`, bad, "boot_setup[0].x"}, value{`[{"name":"a","commands":["true"],"cache":{"paths":["/home/user/.cache"]}}]`, ok, ""},
		value{`[{"name":"a","commands":["true"],"cache":{}}]`, bad, "boot_setup[0].cache.paths"}, value{`[{"name":"a","commands":["true"],"cache":{"paths":["/home/user/x"],"x":1}}]`, bad, "boot_setup[0].cache.x"})},
}

// serviceSet are the fields that no caller may send.
var serviceSet = []string{
	"organization_id", "environment_id", "scope", "http_port", "setup_verification", "setup_warnings",
	"setup_updated_at", "setup_updated_by_user_id", "created_at", "updated_at",
}

// with is a body for a new environment with one field replaced; an empty text
// leaves it out. Larger sizes need an unrestricted policy, others need none.
func with(name, text string) string {
	members := map[string]string{"name": `"n"`, "provider": `"runs"`, "network_policy": `{}`}
	if text == "" {
		delete(members, name)
	} else {
		members[name] = text
	}
	var parts []string
	for k, v := range members {
		parts = append(parts, fmt.Sprintf("%q:%s", k, v))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestEveryFieldOnCreate(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, f := range fields {
		check := func(text string, status int, param string) {
			t.Helper()
			r := s.call(t, "POST", "/v1/environments", with(f.name, text))
			if status == ok {
				status = http.StatusCreated
			}
			expectField(t, f.name, text, r, status, param)
		}
		omitted := ok
		if f.name == "name" || f.name == "provider" {
			omitted = bad
		}
		check("", omitted, "")
		check("null", f.null, "")
		for _, v := range f.values {
			check(v.json, v.status, v.param)
		}
		neighbour := strings.TrimSuffix(with(f.name, ""), "}") + `,"` + f.name + `s_":1}`
		if omitted == ok {
			expectField(t, f.name+"s_", "1", s.call(t, "POST", "/v1/environments", neighbour), bad, f.name+"s_")
		}
		twice := strings.TrimSuffix(with(f.name, "null"), "}") + `,"` + f.name + `":null}`
		expectField(t, f.name, "twice", s.call(t, "POST", "/v1/environments", twice), bad, f.name)
	}
	for _, name := range append(slices.Clone(serviceSet), "expected_access", "Name", "unknown") {
		expectField(t, name, "null", s.call(t, "POST", "/v1/environments", with(name, "null")), bad, name)
	}
}

func TestEveryFieldOnUpdate(t *testing.T) {
	t.Parallel()
	s := start(t)
	path, _ := s.create(t, `{"name":"n","provider":"runs","network_policy":{},"description":"d","env_vars":{"A":"1"},"metadata":{"a":1},"setup":{"script":"true"}}`)
	var saved string
	for _, f := range fields {
		check := func(body, text string, status int, param string) {
			t.Helper()
			r := s.call(t, "PATCH", path, body)
			expectField(t, f.name, text, r, status, param)
			if status == ok {
				saved = r.Text
			}
			if f.name == "network_policy" && status == ok {
				// Back to the unrestricted one, from which every change is free.
				policy, _ := json.Marshal(r.at("network_policy"))
				back := s.call(t, "PATCH", path, `{"network_policy":{},"expected_access":{"network_policy":`+string(policy)+`,"privileged":false}}`)
				expectField(t, f.name, "back", back, ok, "")
				saved = back.Text
			}
		}
		for _, v := range f.values {
			check(fmt.Sprintf(`{%q:%s}`, f.name, v.json), v.json, v.status, v.param)
		}
		check(fmt.Sprintf(`{"%ss_":1}`, f.name), "unknown", bad, f.name+"s_")
		check(fmt.Sprintf(`{%q:null,%q:null}`, f.name, f.name), "twice", bad, f.name)
		check(fmt.Sprintf(`{%q:null}`, f.name), "null", f.null, "")
		if now := s.call(t, "GET", path, "").Text; now != saved {
			t.Errorf("%s: a refused change changed something:\n%sbecame\n%s", f.name, saved, now)
		}
	}
	s.call(t, "PATCH", path, "{}").expect(t, "nothing", 200, "")
	for _, name := range append(slices.Clone(serviceSet), "Name", "unknown") {
		expectField(t, name, "null", s.call(t, "PATCH", path, `{"`+name+`":null}`), bad, name)
	}
}

func expectField(t *testing.T, name, text string, r reply, status int, param string) {
	t.Helper()
	if len(text) > 80 {
		text = fmt.Sprintf("%s… (%d bytes)", text[:80], len(text))
	}
	if r.Status != status {
		t.Errorf("%s: %s: %d %s, want %d", name, text, r.Status, r.Text, status)
		return
	}
	if status != bad {
		return
	}
	if param == "" {
		param = name
	}
	if r.code() != "invalid_request" || r.param() != param {
		t.Errorf("%s: %s: code %q, param %q (%s), want %q", name, text, r.code(), r.param(), r.text("error", "message"), param)
	}
}
