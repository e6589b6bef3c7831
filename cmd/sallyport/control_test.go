package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// servedEdge starts an edge with the given configuration and returns its
// control socket.
func servedEdge(t *testing.T, configuration string) string {
	t.Helper()
	return servedEdgeWith(t, configuration, "--ephemeral")
}

func servedEdgeWith(t *testing.T, configuration string, flags ...string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	state := shortDir(t)
	file := filepath.Join(state, "edge.yaml")
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	edge := exec.Command(filepath.Join(dir, "edge"), append([]string{"serve", "--config", file, "--until-stdin-closes"}, flags...)...)
	edge.Stderr = os.Stderr
	stdin, err := edge.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := edge.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := edge.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := edge.Wait(); err != nil {
			t.Errorf("the edge ended with %v", err)
		}
	})
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("the edge isn't ready: %v", err)
	}
	return filepath.Join(state, "control")
}

func output(t *testing.T, wantCode int, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(context.Background(), args, strings.NewReader(""), &stdout, &stderr); code != wantCode {
		t.Fatalf("%v: exit code %d: %s", args, code, stderr.String())
	}
	return stdout.String() + stderr.String()
}

func TestControlCommands(t *testing.T) {
	t.Parallel()
	socket := servedEdge(t, `
state: .
listen: {control: control}
boundaries: [{id: ci, bindings: [{env: API_TOKEN, host: api.test, secret: "env:X"}]}]
`)
	var env map[string]string
	text := output(t, exitDone, "boundary", "env", "ci", "--control", socket, "-o", "json")
	if err := json.Unmarshal([]byte(text), &env); err != nil || env["API_TOKEN"] == "" {
		t.Errorf("%q: %v", text, err)
	}
	want := "export API_TOKEN='" + env["API_TOKEN"] + "'\n"
	if got := output(t, exitDone, "boundary", "env", "ci", "--control", socket); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := output(t, exitFailed, "boundary", "env", "other", "--control", socket); !strings.Contains(got, "no boundary of that id") {
		t.Errorf("got %q", got)
	}

	var c certificate
	text = output(t, exitDone, "certs", "show", "--control", socket, "-o", "json")
	if err := json.Unmarshal([]byte(text), &c); err != nil || len(c.SHA256) != 64 {
		t.Errorf("%q: %v", text, err)
	}
	if got := output(t, exitDone, "certs", "show", "--control", socket); !strings.Contains(got, c.SHA256) {
		t.Errorf("got %q", got)
	}
	bundle := output(t, exitDone, "certs", "bundle", "--control", socket)
	if !strings.Contains(bundle, strings.TrimSpace(c.PEM)) || strings.Count(bundle, "BEGIN CERTIFICATE") < 2 {
		t.Error("the bundle lacks the CA or the system's roots")
	}
}

func TestControlCommandsWithoutAnEdge(t *testing.T) {
	t.Parallel()
	got := output(t, exitFailed, "certs", "show", "--state", t.TempDir())
	if !strings.Contains(got, "/control") {
		t.Errorf("the error doesn't name the socket: %q", got)
	}
}
