package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/apiclient"
)

// served is a running "sandboxd serve".
type served struct {
	ready
	cmd    *exec.Cmd
	stderr *bytes.Buffer
}

func serve(t *testing.T, bin string, args ...string) *served {
	t.Helper()
	s := &served{cmd: exec.Command(bin, append([]string{"serve"}, args...)...), stderr: &bytes.Buffer{}}
	s.cmd.Stderr = s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no ready line: %v, %v: %s", err, s.cmd.Wait(), s.stderr)
	}
	if err := json.Unmarshal([]byte(line), &s.ready); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	return s
}

func (s *served) stop(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("stop: %v: %s", err, s.stderr)
	}
}

// list lists environments with a key.
func (s *served) list(t *testing.T, key string) ([]apiclient.Environment, error) {
	t.Helper()
	client, err := apiclient.New("http://"+s.API, key)
	if err != nil {
		t.Fatal(err)
	}
	r, err := client.ListEnvironmentsWithResponse(t.Context(), nil)
	if err != nil {
		return nil, err
	}
	return r.JSON200.Data, nil
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sandboxd.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestServe(t *testing.T) {
	t.Parallel()
	bin := program(t)
	config := writeFile(t, "state: state\nlisten: 127.0.0.1:0\nmachines:\n- {name: m, cpu_milli: 2000, memory_mib: 4096, enforces: true}\n")
	state := filepath.Join(filepath.Dir(config), "state")

	first := serve(t, bin, "--config", config)
	if first.AdminKey == "" {
		t.Fatalf("no key: %+v", first.ready)
	}
	client, err := apiclient.New("http://"+first.API, first.AdminKey)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"name":"a","provider":"runs","setup":{"script":"true"}}`
	made, err := client.CreateEnvironmentWithBodyWithResponse(t.Context(), nil, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CreateEnvironmentWithBodyWithResponse(t.Context(), nil, "application/json", strings.NewReader(`{"name":"a","provider":"runs","resources":{"cpu_milli":2001}}`))
	if failure := (*apiclient.Failure)(nil); !errors.As(err, &failure) || failure.Status != 400 {
		t.Errorf("a size that the catalogue doesn't have: %v", err)
	}
	_, err = client.StartEnvironmentSetupRunWithResponse(t.Context(), made.JSON201.EnvironmentId, nil)
	if failure := (*apiclient.Failure)(nil); !errors.As(err, &failure) || failure.Status != 501 {
		t.Errorf("a run without an edge: %v", err)
	}

	// Another one keeps off the state; commands that read needn't.
	out, err := exec.Command(bin, "serve", "--config", config).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "in use by process") {
		t.Errorf("a second daemon: %v: %s", err, out)
	}
	check := mustRun(t, "state", "check", "--state", state)
	head := strings.TrimSpace(strings.TrimPrefix(check[strings.Index(check, "audit head "):], "audit head "))
	backup := filepath.Join(t.TempDir(), "sandboxd.db")
	mustRun(t, "state", "backup", "--state", state, backup)
	if record := mustRun(t, "state", "audit", "--state", state); strings.Count(record, "\n") != 3 || !strings.Contains(record, "environment.create") {
		t.Errorf("audit: %s", record)
	}
	first.stop(t)

	second := serve(t, bin, "--config", config)
	if second.AdminKey != "" {
		t.Error("a second start has a new key")
	}
	if list, err := second.list(t, first.AdminKey); err != nil || len(list) != 1 {
		t.Errorf("after a restart: %v, %v", list, err)
	}
	second.stop(t)
	mustRun(t, "state", "check", "--state", state, "--audit-head", head)
	mustRun(t, "state", "check", "--state", filepath.Dir(backup), "--audit-head", head)
	forged := head[:len(head)-1] + map[bool]string{true: "0", false: "1"}[head[len(head)-1] == '1']
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"state", "check", "--state", state, "--audit-head", forged}, &stdout, &stderr); code != exitFailed {
		t.Errorf("check against another head: exit %d, %s", code, &stderr)
	}
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), args, &stdout, &stderr); code != exitDone {
		t.Errorf("sandboxd %q: exit %d: %s", args, code, &stderr)
	}
	return stdout.String()
}

func TestAdminKeyFile(t *testing.T) {
	t.Parallel()
	bin := program(t)
	config := writeFile(t, "state: state\nlisten: 127.0.0.1:0\n")
	file := filepath.Join(t.TempDir(), "admin.key")
	read := func() string {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode of the key file: %v, %v", info.Mode(), err)
		}
		return strings.TrimSpace(string(data))
	}
	var keys []string
	for _, before := range []func(){func() {}, func() {}, func() { _ = os.WriteFile(file, []byte("sp_old\n"), 0o644) }} {
		before()
		s := serve(t, bin, "--config", config, "--admin-key-file", file)
		if s.AdminKey != "" {
			t.Error("the key is shown and in the file")
		}
		keys = append(keys, read())
		if _, err := s.list(t, keys[len(keys)-1]); err != nil {
			t.Errorf("use of the key: %v", err)
		}
		s.stop(t)
	}
	if keys[0] != keys[1] || keys[1] == keys[2] {
		t.Errorf("keys %q", keys)
	}
}

func TestConfigurations(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"least", "state: s", ""},
		{"whole", "state: s\nlisten: 0.0.0.0:1\nedge: {control: e.sock}\nmachines: [{name: a, cpu_milli: 250, memory_mib: 1024, accelerators: [l4]}]\nlimits: {parallel_runs: 1, runs_per_organization: 2}", ""},
		{"JSON", `{"state": "s"}`, ""},
		{"nothing", "", "state: expected a directory"},
		{"no state", "listen: 127.0.0.1:1", "state: expected a directory"},
		{"unknown key", "state: s\nlisen: x", "lisen: unknown key"},
		{"unknown nested key", "state: s\nedge: {controls: x}", "edge.controls: unknown key"},
		{"repeated key", "state: s\nstate: t", "state"},
		{"two documents", "state: s\n---\nstate: t", "one document"},
		{"every interface", "state: s\nlisten: :7070", "listen: expected HOST:PORT"},
		{"no port", "state: s\nlisten: 127.0.0.1", "listen: expected HOST:PORT"},
		{"odd port", "state: s\nlisten: 127.0.0.1:http", "listen: expected a port"},
		{"small machine", "state: s\nmachines: [{name: a, cpu_milli: 249, memory_mib: 1024}]", "machines[0]: expected"},
		{"nameless machine", "state: s\nmachines: [{cpu_milli: 250, memory_mib: 1024}]", "machines[0]: expected"},
		{"odd limit", "state: s\nlimits: {parallel_runs: -1}", "limits: expected"},
	}
	for _, c := range cases {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), []string{"config", "check", "--config", writeFile(t, c.text)}, &stdout, &stderr)
		if (code == exitDone) != (c.want == "") || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: exit %d, %s", c.name, code, &stderr)
		}
	}
	t.Setenv("SANDBOXD_STATE", "/from/the/environment")
	t.Setenv("SANDBOXD_LISTEN", "127.0.0.1:9")
	var stdout bytes.Buffer
	if run(context.Background(), []string{"config", "check", "--config", writeFile(t, "{}")}, &stdout, io.Discard) != exitDone ||
		!strings.Contains(stdout.String(), "state in /from/the/environment, API on 127.0.0.1:9") {
		t.Errorf("with an environment: %s", &stdout)
	}
}
