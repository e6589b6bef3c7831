package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/control"
	"github.com/sallyport/sallyport/inject/keyring"
)

// A vault from its making to the placeholder of a session, and nothing on the
// way shows the value. Ledger: SI-19, SI-25, SI-26, SI-30
func TestVaultCommands(t *testing.T) {
	t.Parallel()
	const value = "c4nary-of-the-vault"
	socket := servedEdgeWith(t, "state: state\nlisten: {control: control}\n")
	file := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	on := func(args ...string) []string { return append(append([]string{"vault"}, args...), "--control", socket) }
	id := strings.TrimSpace(output(t, exitDone, on("create", "deploy", "--project", "web")...))
	shown := output(t, exitDone, on("set", id, "DEPLOY_TOKEN", "--host", "api.example.com/X-Key", "--file", file)...)
	shown += output(t, exitDone, on("set", id, "DEPLOY_TOKEN", "--file", file)...)
	shown += output(t, exitDone, on("show", id)...) + output(t, exitDone, on("show", id, "-o", "json")...) + output(t, exitDone, on("list")...)
	if strings.Contains(shown, value) || !strings.Contains(shown, "DEPLOY_TOKEN: version 2") || !strings.Contains(shown, "api.example.com") {
		t.Errorf("shown:\n%s", shown)
	}
	client := control.NewClient(socket)
	bindings, err := client.Resolve(t.Context(), keyring.Wanted{Org: defaultOrg, Project: "web", Vaults: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	env, err := client.Open(t.Context(), boundary.Spec{ID: "session", Bindings: bindings})
	if err != nil || len(env["DEPLOY_TOKEN"]) < 20 || env["DEPLOY_TOKEN"] == value {
		t.Errorf("environment %v, %v", env, err)
	}
	if env, err = client.Open(t.Context(), boundary.Spec{ID: "session"}); err != nil || len(env) != 0 {
		t.Errorf("after it was detached: %v, %v", env, err)
	}
	output(t, exitUsage, on("set", id, "DEPLOY_TOKEN", value)...)
	output(t, exitFailed, on("unset", id, "NONE")...)
	output(t, exitDone, on("unset", id, "DEPLOY_TOKEN")...)
	output(t, exitDone, on("delete", id)...)
	output(t, exitFailed, on("show", id)...)
	sealed := func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var data []byte
			data, err = os.ReadFile(path)
			if strings.Contains(string(data), value) {
				t.Errorf("%s holds the value", path)
			}
		}
		return err
	}
	if err := filepath.WalkDir(filepath.Dir(socket), sealed); err != nil {
		t.Error(err)
	}
}
