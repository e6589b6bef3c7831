package environment_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/environment/script"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/machine"
)

// rules have one large machine that enforces nothing, and one GPU.
func rules() environment.Rules {
	return environment.Rules{
		Providers: []environment.Provider{
			{Name: "runs", Privileged: true, ComputerUse: true, Steps: true, BootSetup: true, Machines: machine.Catalogue{
				{Name: "small", CPUMilli: 4000, MemoryMiB: 8192, Enforces: true},
				{Name: "large", CPUMilli: 8000, MemoryMiB: 32768, Accelerators: []string{"t4"}},
			}},
			{Name: "plain", Machines: machine.Local(2000, 4096)},
		},
		RunnerImages: []string{"img_runner"},
	}
}

type kind string

const (
	text    kind = `"x"`
	number  kind = `1`
	boolean kind = `true`
	object  kind = `{}`
	list    kind = `[]`
)

var kinds = []kind{text, number, boolean, object, list}

// A field of the walk. Values are JSON; in bodies they stand at path, which
// has brackets for elements of lists.
type field struct {
	path string
	kind kind
	// required fields can't be left out of what they are in, nor be null.
	required bool
	good     []string
	bad      []bad
	// with are other members that the field's values need.
	with string
}

type bad struct {
	value string
	param string // "" is the path itself
}

func quoted(n int, of string) string { return `"` + strings.Repeat(of, n) + `"` }

func policyOf(n int) string {
	rule := `{"match":{"host_glob":"a.test"},"action":{"type":"allow"}}`
	return `{"version":"v1","rules":[` + strings.TrimSuffix(strings.Repeat(rule+",", n), ",") + `]}`
}

func variables(n int, value string) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"V%03d":%q`, i, value))
	}
	return "{" + strings.Join(list, ",") + "}"
}

// fields are all that an author can write.
var fields = []field{
	{path: "name", kind: text, required: true, good: []string{`"a"`, quoted(256, "é"), `" "`}, bad: []bad{{`""`, ""}, {quoted(257, "é"), ""}}},
	{path: "provider", kind: text, required: true, good: []string{`"runs"`, `"plain"`}, bad: []bad{{`""`, ""}, {`"docker"`, ""}, {`"Runs"`, ""}}},
	{path: "description", kind: text, good: []string{`""`, `"for people"`}},
	{path: "resources", kind: object, good: []string{`{}`}},
	{path: "resources.cpu_milli", kind: number, good: []string{`0`, `250`, `251`, `4000`}, bad: []bad{{`249`, ""}, {`1`, ""}, {`-1`, ""}, {`4001`, ""}, {`250.5`, ""}, {`1e3`, ""}, {`9223372036854775808`, ""}}},
	{path: "resources.memory_mib", kind: number, good: []string{`0`, `1024`, `8192`}, bad: []bad{{`1023`, ""}, {`1`, ""}, {`-1`, ""}, {`8193`, ""}, {`1024.0`, ""}}},
	{path: "resources.accelerator", kind: object, with: `"network_policy":{}`, good: []string{`{"name":"t4"}`}, bad: []bad{{`{}`, "resources.accelerator.name"}}},
	{path: "resources.accelerator.type", kind: text, with: `"network_policy":{},"resources.accelerator.name":"t4"`, good: []string{`"gpu"`}, bad: []bad{{`"tpu"`, ""}, {`""`, ""}, {`"GPU"`, ""}}},
	{path: "resources.accelerator.name", kind: text, required: true, with: `"network_policy":{}`, good: []string{`"t4"`}, bad: []bad{{`""`, ""}, {`"a100"`, ""}, {`"T4"`, ""}}},
	{path: "resources.accelerator.count", kind: number, with: `"network_policy":{},"resources.accelerator.name":"t4"`, good: []string{`1`}, bad: []bad{{`0`, ""}, {`2`, ""}, {`-1`, ""}, {`1.0`, ""}}},
	// Ranges of these are a matter of the start of compute.
	{path: "pvc_size_gi", kind: number, good: []string{`0`, `1`, `1000`, `1001`}, bad: []bad{{`-1`, ""}, {`1.5`, ""}}},
	{path: "idle_stop_after_seconds", kind: number, good: []string{`0`, `119`, `120`, `2592001`}, bad: []bad{{`-1`, ""}, {`120.5`, ""}}},
	{path: "stopped_delete_after_seconds", kind: number, good: []string{`0`, `3599`, `2592001`}, bad: []bad{{`-1`, ""}, {`3600.5`, ""}}},
	{path: "setup", kind: object, good: []string{`{}`}},
	{path: "setup.script", kind: text, good: []string{`""`, `" \r\n"`, quoted(script.MaxSize-1, "a"), `"` + strings.Repeat("a", script.MaxSize-1) + `  \r\n\r\n"`},
		bad: []bad{{quoted(script.MaxSize, "a"), ""}, {`"a\u0000b"`, ""}}},
	{path: "setup.timeout_seconds", kind: number, with: `"setup.script":"true"`, good: []string{`10`, `3600`}, bad: []bad{{`9`, ""}, {`3601`, ""}, {`0`, ""}, {`-10`, ""}, {`10.5`, ""}}},
	{path: "network_policy", kind: object, good: []string{`{}`, policyOf(0), policyOf(200)}, bad: []bad{
		{policyOf(201), "network_policy.rules"}, {`{"version":"v1"}`, "network_policy.rules"}, {`{"rules":[]}`, "network_policy.version"},
		{`{"version":"v2","rules":[]}`, "network_policy.version"}, {`{"version":"v1","rules":null}`, "network_policy.rules"},
		{`{"version":"v1","rules":[{"match":{"host_glob":""},"action":{"type":"allow"}}]}`, "network_policy.rules[0].match.host_glob"},
		{`{"version":"v1","rules":[{"match":{"host_glob":"a.test"},"action":{"type":"Allow"}}]}`, "network_policy.rules[0].action.type"},
		{`{"version":"v1","rules":[],"rules":[]}`, "network_policy.rules"},
	}},
	{path: "privileged", kind: boolean, good: []string{`true`, `false`}},
	{path: "computer_use", kind: boolean, good: []string{`true`, `false`}},
	{path: "env_vars", kind: object, good: []string{`{}`, `{"_a1":""}`, `{"A":"é\n"}`, variables(100, ""), variables(1, strings.Repeat("x", 64<<10-4))}, bad: []bad{
		{`{"A":null}`, "env_vars.A"}, {`{"A":1}`, "env_vars.A"}, {`{"":"x"}`, `env_vars[""]`}, {`{"1A":"x"}`, "env_vars.1A"}, {`{"A-B":"x"}`, "env_vars.A-B"},
		{`{"A B":"x"}`, `env_vars["A B"]`}, {`{"PATH":"x"}`, "env_vars.PATH"}, {`{"HTTPS_PROXY":"x"}`, "env_vars.HTTPS_PROXY"},
		{`{"no_proxy":"x"}`, "env_vars.no_proxy"}, {`{"SSL_CERT_FILE":"x"}`, "env_vars.SSL_CERT_FILE"}, {`{"SALLYPORT_BROKER":"x"}`, "env_vars.SALLYPORT_BROKER"},
		{`{"GIT_CONFIG_COUNT":"0"}`, "env_vars.GIT_CONFIG_COUNT"}, {`{"A":"x\u0000"}`, "env_vars.A"}, {`{"A":"x","A":"x"}`, "env_vars.A"},
		{variables(101, ""), ""}, {variables(1, strings.Repeat("x", 64<<10-3)), ""},
	}},
	{path: "mounts", kind: list, good: []string{`[]`, `[{"source":"ftp://x","mount_path":"/../"}]`}, bad: []bad{{`[null]`, "mounts[0]"}, {`["a"]`, "mounts[0]"}, {`[{}]`, "mounts[0].source"}}},
	{path: "mounts[0].source", kind: text, required: true, with: `"mounts[0].mount_path":"a"`, good: []string{`""`, `"https://data.example.com/a.csv"`}},
	{path: "mounts[0].mount_path", kind: text, required: true, with: `"mounts[0].source":"https://data.example.com"`, good: []string{`""`, `"data/a.csv"`}},
	{path: "image", kind: text, good: []string{`"img_runner"`, `""`}, bad: []bad{{`"debian"`, ""}, {`"img_runner "`, ""}}},
	{path: "metadata", kind: object, good: []string{`{}`, `{"a":{"b":[1.50,null]}}`, `{"a":` + quoted(16<<10-8, "x") + `}`}, bad: []bad{{`{"a":` + quoted(16<<10-7, "x") + `}`, ""}, {`{"a":1,"a":1}`, "metadata.a"}}},
	{path: "steps", kind: list, good: []string{`[]`, `["RUN apt-get update","env A=1","WORKDIR /x"]`},
		bad: []bad{{`["USER root"]`, "steps[0]"}, {`["RUN a","FROM x"]`, "steps[1]"}, {`["RUN"]`, "steps[0]"}, {`["RUN a\u0000"]`, "steps[0]"}, {`["ADD https://a b"]`, "steps[0]"}, {`[1]`, "steps[0]"}, {`[null]`, "steps[0]"}}},
	{path: "boot_setup", kind: list, good: []string{`[]`}, bad: []bad{{`[null]`, "boot_setup[0]"}, {`[{"name":"a","commands":["x"]},{"name":"a","commands":["x"]}]`, "boot_setup[1].name"}}},
	{path: "boot_setup[0].name", kind: text, required: true, with: `"boot_setup[0].commands":["npm ci"]`, good: []string{`"deps"`}, bad: []bad{{`""`, ""}}},
	{path: "boot_setup[0].commands", kind: list, required: true, with: `"boot_setup[0].name":"a"`, good: []string{`["npm ci","make"]`},
		bad: []bad{{`[]`, ""}, {`[" "]`, "boot_setup[0].commands[0]"}, {`["a\u0000"]`, "boot_setup[0].commands[0]"}, {`[1]`, "boot_setup[0].commands[0]"}}},
	{path: "boot_setup[0].cache", kind: object, with: boot, good: []string{`{"paths":["/home/user/.npm"]}`}, bad: []bad{{`{}`, "boot_setup[0].cache.paths"}}},
	{path: "boot_setup[0].cache.key", kind: text, with: boot + `,"boot_setup[0].cache.paths":["/home/user/a"]`, good: []string{`"k"`, `""`}},
	{path: "boot_setup[0].cache.paths", kind: list, required: true, with: boot, good: []string{`["/home/user/.npm","/home/user/a/"]`}, bad: []bad{
		{`[]`, ""}, {`["/home/user"]`, "boot_setup[0].cache.paths[0]"}, {`["/home/user/"]`, "boot_setup[0].cache.paths[0]"}, {`["/home/user2/a"]`, "boot_setup[0].cache.paths[0]"},
		{`["/home/user/a","/home/user/../x"]`, "boot_setup[0].cache.paths[1]"}, {`["a"]`, "boot_setup[0].cache.paths[0]"}, {`["/home/user/./a"]`, "boot_setup[0].cache.paths[0]"}}},
	{path: "boot_setup[0].cache.files", kind: list, with: boot + `,"boot_setup[0].cache.paths":["/home/user/a"]`, good: []string{`[]`, `["package-lock.json"]`}, bad: []bad{{`[""]`, "boot_setup[0].cache.files[0]"}}},
}

const boot = `"boot_setup[0].name":"a","boot_setup[0].commands":["x"]`

// Ledger: EV-1, EV-2, EV-3, EV-6, EV-17, EV-18, EV-19, EV-21, GR-1, GR-6, SV-1, SV-3, SC-4, IM-7
// Ledger: NP-2, NP-3, NP-6, NP-7, NP-8, NP-13, FM-4
func TestEveryField(t *testing.T) {
	t.Parallel()
	for _, f := range fields {
		t.Run(f.path, func(t *testing.T) {
			t.Parallel()
			for _, value := range f.good {
				f.expect(t, value, "")
			}
			for _, b := range f.bad {
				param := b.param
				if param == "" {
					param = f.path
				}
				f.expect(t, b.value, param)
			}
			if f.required {
				f.expect(t, `null`, f.path)
			} else {
				f.expect(t, `null`, "")
			}
			for _, k := range kinds {
				if k != f.kind {
					f.expect(t, string(k), f.path)
				}
			}
			f.neighbour(t)
			f.omitted(t)
		})
	}
}

// expect puts value at the field, in the body of a create and of an update,
// and wants the fault to be at param; none when it is empty.
func (f field) expect(t *testing.T, value, param string) {
	t.Helper()
	for _, update := range []bool{false, true} {
		data := f.body(t, update, value)
		err := try(data, update)
		var e *fault.Error
		switch {
		case param == "" && err != nil:
			t.Errorf("%s: %v, want no error", shorten(data), err)
		case param != "" && !errors.As(err, &e):
			t.Errorf("%s: %v, want an error at %s", shorten(data), err, param)
		case param != "" && (e.Param != param || e.Code != fault.InvalidRequest || e.Message == ""):
			t.Errorf("%s: %s at %q: %s, want %s", shorten(data), e.Code, e.Param, e.Message, param)
		}
	}
}

// neighbour is a member beside the field that nobody knows.
func (f field) neighbour(t *testing.T) {
	t.Helper()
	at := f.path[:strings.LastIndexByte(f.path, '.')+1] + "unheard_of"
	other := field{path: at, kind: f.kind, with: f.with}
	if len(f.good) > 0 {
		other.with = strings.TrimPrefix(f.with+`,"`+f.path+`":`+f.good[0], ",")
	}
	other.expect(t, "1", at)
	other.path = strings.ToUpper(f.path[:1]) + f.path[1:]
	if !strings.ContainsAny(f.path, ".[") {
		other.expect(t, f.good[0], other.path) // names are case-sensitive
	}
}

// omitted leaves the field out of what it is in.
func (f field) omitted(t *testing.T) {
	t.Helper()
	parent, name, below := cutLast(f.path)
	switch {
	case !below && !f.required:
		for _, update := range []bool{false, true} {
			if err := try(assemble(t, update, map[string]string{}), update); err != nil {
				t.Errorf("omitted: %v", err)
			}
		}
	case !below:
		err := try([]byte(fmt.Sprintf(`{%q:"runs"}`, map[string]string{"name": "provider", "provider": "name"}[name])), false)
		if e := (*fault.Error)(nil); !errors.As(err, &e) || e.Param != name {
			t.Errorf("omitted on create: %v", err)
		}
		if err := try([]byte(`{}`), true); err != nil {
			t.Errorf("omitted on update: %v", err)
		}
	case f.required:
		members := pairs(t, f.with)
		delete(members, f.path)
		if _, ok := members[parent]; !ok && len(members) == 0 {
			members[parent] = `{}`
		}
		for _, update := range []bool{false, true} {
			if err := try(assemble(t, update, members), update); err == nil && hasParent(members, parent) {
				t.Errorf("omitted: no error from %s", assemble(t, update, members))
			}
		}
	}
}

func hasParent(members map[string]string, parent string) bool {
	for path := range members {
		if path == parent || strings.HasPrefix(path, parent+".") {
			return true
		}
	}
	return false
}

func cutLast(path string) (parent, name string, below bool) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

func (f field) body(t *testing.T, update bool, value string) []byte {
	t.Helper()
	members := pairs(t, f.with)
	members[f.path] = value
	return assemble(t, update, members)
}

func pairs(t *testing.T, with string) map[string]string {
	t.Helper()
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte("{"+with+"}"), &raw); err != nil {
		t.Fatal(err)
	}
	members := map[string]string{}
	for path, value := range raw {
		members[path] = string(value)
	}
	return members
}

// assemble writes a body with values at paths. A create has what is required
// unless a path says otherwise; an update has the access precondition.
func assemble(t *testing.T, update bool, members map[string]string) []byte {
	t.Helper()
	tree := map[string]any{}
	if update {
		tree["expected_access"] = json.RawMessage(`{"network_policy":{"version":"v1","rules":[]},"privileged":false}`)
	} else {
		tree["name"], tree["provider"] = "a", "runs"
	}
	for path, value := range members {
		put(tree, strings.Split(path, "."), raw(value))
	}
	data := encode(tree)
	if !json.Valid(data) {
		t.Fatalf("not JSON: %s", data)
	}
	return data
}

type raw string

func put(tree map[string]any, path []string, value raw) {
	name, inList := strings.CutSuffix(path[0], "[0]")
	if len(path) == 1 {
		tree[name] = value
		return
	}
	below, ok := tree[name].(map[string]any)
	if items, isList := tree[name].([]any); isList {
		below, ok = items[0].(map[string]any)
	}
	if !ok {
		below = map[string]any{}
	}
	put(below, path[1:], value)
	tree[name] = below
	if inList {
		tree[name] = []any{below}
	}
}

// encode keeps raw values as they are, duplicate members included.
func encode(v any) []byte {
	switch v := v.(type) {
	case raw:
		return []byte(v)
	case map[string]any:
		var parts []string
		for name, value := range v {
			parts = append(parts, fmt.Sprintf("%q:%s", name, encode(value)))
		}
		return []byte("{" + strings.Join(parts, ",") + "}")
	case []any:
		return []byte("[" + string(encode(v[0])) + "]")
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// try is what the API does with a body.
func try(data []byte, update bool) error {
	if !update {
		p, err := environment.ParseCreate(data)
		if err == nil {
			_, err = environment.Create(p, rules())
		}
		return err
	}
	p, err := environment.ParseUpdate(data)
	if err == nil {
		_, _, err = environment.Update(environment.Definition{Name: "saved", Provider: "runs"}, p, rules())
	}
	return err
}

func shorten(data []byte) string {
	if len(data) > 300 {
		return string(data[:300]) + "…"
	}
	return string(data)
}
