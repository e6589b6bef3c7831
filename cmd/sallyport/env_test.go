package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Ledger: CL-3, CL-4, NP-35, SV-41
func TestEnvStory(t *testing.T) {
	t.Parallel()
	s := startService(t)
	env := s.create(t, "echo hello\nfalse\n", "--name", "web", "--script", "-", "--size", "heavy", "--env", "A=b")

	code, out, errs := s.call(t, "", "env", "verify", env)
	if code != exitNo {
		t.Errorf("verify a failing script: exit code %d", code)
	}
	golden(t, errs, "srun: queued\nsrun: setup\nsrun: failed\n")
	golden(t, out, `run srun failed in phase setup after T
line 2: false
exit code: 1
The script failed.
  | no
hint: It isn't root. (not_root)
Failed
`)
	code, out, _ = s.call(t, "", "setup-run", "log", env, "-f")
	golden(t, out, "  * Compute is ready.\n  1 > echo hello\nhello\n  2 > false\n")
	if code != exitDone {
		t.Errorf("log: exit code %d", code)
	}
	if code, _, errs := s.call(t, "", "setup-run", "cancel", env); code != exitFailed || !strings.Contains(errs, "setup_run_finished") {
		t.Errorf("cancel a finished run: exit code %d, %s", code, errs)
	}

	code, out, errs = s.call(t, "echo hello\n", "env", "update", env, "--script", "-", "--verify")
	if code != exitDone || !strings.HasSuffix(out, "\nVerified\n") {
		t.Errorf("verify: exit code %d, %s%s", code, out, errs)
	}
	if _, out, _ = s.call(t, "", "env", "update", env, "--unrestricted"); !strings.Contains(out, "Stale") || !strings.Contains(out, "Enabled") {
		t.Errorf("after a change: %s", out)
	}
	// The policy {} may be changed at will, another only by whoever knows it.
	if _, out, _ = s.call(t, "", "env", "update", env, "--no-internet"); !strings.Contains(out, "Verified") {
		t.Errorf("after the change was undone: %s", out)
	}
	code, out, errs = s.call(t, `{"version":"v1","rules":[{"match":{"host_glob":"a.example.com"},"action":{"type":"allow"}}]}`, "env", "update", env, "--policy", "-")
	if code != exitDone {
		t.Errorf("change of a policy: exit code %d, %s", code, errs)
	}
	golden(t, out, `Environment:  env
Name:  web
Runtime:  runs
Compute:  4.000 processors, 8192 MiB
Internet:  Custom policy (saved)
Setup:  Stale, by run srun at T
Updated:  T
`)
	if _, out, _ = s.call(t, "", "setup-run", "list", env); strings.Count(out, "srun_") != 2 {
		t.Errorf("runs: %s", out)
	}
	if code, _, errs = s.call(t, "", "env", "delete", env); code != exitDone {
		t.Errorf("delete: exit code %d, %s", code, errs)
	}
	if code, _, errs = s.call(t, "", "env", "get", env); code != exitFailed || !strings.Contains(errs, "not_found") {
		t.Errorf("get what is gone: exit code %d, %s", code, errs)
	}
}

// Ledger: EV-31, GR-11, CN-22
func TestEnvFile(t *testing.T) {
	t.Parallel()
	s := startService(t)
	file := filepath.Join(t.TempDir(), "env.yaml")
	err := os.WriteFile(file, []byte(`environment:
  name: web
  resources: {cpuCount: 1.5, memoryMB: 2048}
  steps: ["RUN apt-get install -y jq"]
  setup:
    - name: install
      commands: [npm ci]
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	env := s.create(t, "", "-f", file, "--description", "from a file")
	code, out, errs := s.call(t, "", "env", "get", env, "-o", "json")
	if code != exitDone {
		t.Fatalf("get: exit code %d, %s", code, errs)
	}
	for _, part := range []string{`"cpu_milli": 1500`, `"memory_mib": 2048`, `"RUN apt-get install -y jq"`, `"npm ci"`, `"boot_setup"`, `"provider": "runs"`, `"from a file"`} {
		if !strings.Contains(out, part) {
			t.Errorf("%s is not in %s", part, out)
		}
	}
	if _, out, _ = s.call(t, "", "env", "list"); !strings.Contains(out, "No setup") || !strings.Contains(out, "No access") {
		t.Errorf("list: %s", out)
	}
	// What a flag doesn't name stays.
	if _, out, _ = s.call(t, `{"description": null}`, "env", "update", env, "-f", "-", "-o", "json"); strings.Contains(out, "from a file") || !strings.Contains(out, "npm ci") {
		t.Errorf("update: %s", out)
	}
}

func TestEnvRefusals(t *testing.T) {
	t.Parallel()
	s := startService(t)
	cases := []struct {
		stdin string
		args  string
		code  int
		says  string
	}{
		{"", "env create", exitUsage, "needs a name"},
		{"", "env create --name a --size giant", exitUsage, "giant"},
		{"", "env create --name a --unrestricted --no-internet", exitUsage, "none of the others can be"},
		{"", "env create --name a --script - -f -", exitUsage, "standard input"},
		{"", "env create --name a --env B", exitUsage, "K=V"},
		{"", "env create --name a --setup-timeout 20s", exitUsage, "--script"},
		{"", "env create --name a --env PATH=/bin", exitFailed, "invalid_request"},
		{"nme: a", "env create -f - --name a", exitFailed, "nme"},
		{"name: a\nname: b", "env create -f -", exitFailed, "name"},
		{"{environment: {name: a}, name: b}", "env create -f -", exitFailed, "beside"},
		{"environment: {name: a, image: {kind: docker, name: b}}", "env create -f -", exitFailed, "preset"},
		{"environment: {name: a, resources: {cpuCount: 1.00001, memoryMB: 2048}}", "env create -f -", exitFailed, "thousandths"},
		{"", "env update env_x", exitUsage, "nothing to change"},
		{"", "env update env_x --name b", exitFailed, "not_found"},
		{"", "env verify env_x", exitFailed, "not_found"},
		{"", "setup-run get env_x", exitFailed, "not_found"},
		{"", "template show nope", exitFailed, "no template"},
	}
	for _, c := range cases {
		code, _, errs := s.call(t, c.stdin, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit code %d, %q; want %d, %q", c.args, code, errs, c.code, c.says)
		}
	}
}

func TestOffers(t *testing.T) {
	t.Parallel()
	s := startService(t)
	_, out, _ := s.call(t, "", "provider", "list")
	golden(t, out, "PROVIDER  NAME  AVAILABLE  CAPABILITIES\nruns  Agent runner  yes  network_policy\n")
	if _, out, _ = s.call(t, "", "template", "list"); !strings.Contains(out, "python-uv") {
		t.Errorf("templates: %s", out)
	}
	if code, out, _ := s.call(t, "", "template", "show", "python-uv"); code != exitDone || !strings.Contains(out, "uv") {
		t.Errorf("template: exit code %d, %s", code, out)
	}
}

// A key is sent to whom it belongs, unseen by others.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, []byte("sp_x"), 0o644); err != nil { //nolint:gosec // that is the point
		t.Fatal(err)
	}
	private := filepath.Join(dir, "private")
	if err := os.WriteFile(private, []byte("sp_x"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct{ args, says string }{
		{"env list --state " + dir, "\"sallyport up\" doesn't run"},
		{"env list --api http://127.0.0.1:1 --state " + dir, "no API key"},
		{"env list --api http://127.0.0.1:1 --key-file " + open, "chmod 600"},
		{"env list --api http://example.com --key-file " + private, "use https"},
		{"env list --key-file " + private + ".none", "no such file"},
		{"env list --api ftp://example.com", "no API key"},
	}
	for _, c := range cases {
		var out, errs strings.Builder
		if code := run(t.Context(), strings.Fields(c.args), strings.NewReader(""), &out, &errs); code == exitDone || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%s: exit code %d, %q; want %q", c.args, code, errs.String(), c.says)
		}
	}
	for api, good := range map[string]bool{
		"http://127.0.0.1:7070": true, "http://[::1]:1": true, "http://localhost:1": true, "https://api.example.com": true,
		"http://api.example.com": false, "http://10.0.0.1": false, "ftp://127.0.0.1": false, "https://a:b@api.example.com": false, "x": false,
	} {
		if err := checkAPI(api); (err == nil) != good {
			t.Errorf("%s: %v", api, err)
		}
	}
}

// Ledger: SV-31
func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\tb\n":                  "a\tb\n",
		"\x1b[31mred\x1b[0m":      "red",
		"\x1b]0;title\aafter":     "after",
		"\x1b]8;;x\x1b\\link":     "link",
		"\x1b[":                   "",
		"\x1b(Bx":                 "Bx",
		"back\b\rover\x00":        "backover",
		"\u009b31mé\u202eevil":    "31méevil",
		"cut \xff\xc3 utf8 \x1b]": "cut \ufffd\ufffd utf8 ",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
