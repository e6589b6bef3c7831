package integration_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// verdict is what the tests rely on of a result of `sallyport doctor -o json`.
type verdict struct {
	Runtime, Way, Status, Crossed, Cause, Said, Advice string
}

// doctor runs `sallyport doctor -o json` and returns the verdicts.
func doctor(t *testing.T, code int, flags ...string) []verdict {
	t.Helper()
	res := run(t, asRoot, nil, product.Path("sallyport"), append([]string{"doctor", "-o", "json"}, flags...)...)
	res.want(t, code)
	var all []verdict
	if err := json.Unmarshal([]byte(res.stdout), &all); err != nil {
		t.Fatalf("%v: %s%s", err, res.stdout, res.stderr)
	}
	return all
}

// notInstalled are the runtimes that the set-up doesn't install: the second
// test has them if they can be had.
var notInstalled = []string{"deno", "cargo"}

// Every runtime that is here gets through the edge, told of the proxy and not,
// and trusts it by what its own documentation names.
//
// Ledger: ED-36
func TestDoctor(t *testing.T) {
	t.Parallel()
	all := doctor(t, 0)
	if len(all) < 30 {
		t.Errorf("%d results: %+v", len(all), all)
	}
	for _, v := range all {
		switch {
		case v.Status == "ok" && v.Crossed != "":
		case v.Status == "absent" && slices.Contains(notInstalled, v.Runtime):
		default:
			t.Errorf("%+v", v)
		}
	}
}

// Runtimes that aren't packaged where the others are come with a workspace.
//
// Ledger: ED-36
func TestDoctorOfAWorkspace(t *testing.T) {
	t.Parallel()
	dir := share(t)
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	pack := command(t, asRoot, nil, "sh", "-euc", `cd "$0"; npm pack --silent @deno/linux-x64-glibc; tar xzf deno-*.tgz package/deno
mv package/deno bin/; chmod 755 bin/deno; rm -r package deno-*.tgz`, dir)
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("fetch deno: %v: %s", err, out)
	}
	expected := []string{"deno"}
	if cargo, err := exec.Command("rustup", "which", "cargo").Output(); err == nil {
		if out, err := exec.Command("cp", strings.TrimSpace(string(cargo)), bin).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		expected = append(expected, "cargo")
	}
	flags := []string{"--workspace", dir}
	for _, name := range expected {
		flags = append(flags, "--only", name)
	}
	all := doctor(t, 0, flags...)
	if len(all) != 2*len(expected) {
		t.Errorf("%d results for %q: %+v", len(all), expected, all)
	}
	for _, v := range all {
		if v.Status != "ok" || v.Crossed != v.Way {
			t.Errorf("%+v", v)
		}
	}
}

// A runtime that doesn't trust the edge fails, whichever way it takes, and the
// variable that is missing is named. The others are none the worse.
func TestDoctorNamesBrokenTrust(t *testing.T) {
	t.Parallel()
	for missing, runtime := range map[string]string{
		"NODE_EXTRA_CA_CERTS": "node fetch",
		"JAVA_TOOL_OPTIONS":   "java HttpsURLConnection",
	} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			all := doctor(t, 1, "--without", missing, "--only", runtime, "--only", "curl")
			if len(all) != 4 {
				t.Errorf("results: %+v", all)
			}
			for _, v := range all {
				broken := v.Runtime == runtime
				if broken && (v.Status != "failed" || !strings.Contains(v.Cause, "doesn't trust") ||
					!strings.Contains(v.Advice, "set "+missing+"=") || v.Said == "") || !broken && v.Status != "ok" {
					t.Errorf("%+v", v)
				}
			}
		})
	}
}
