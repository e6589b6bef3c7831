package main

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport/sandboxd/apiclient"
)

// startEdge starts an edge whose control socket is at a path.
func startEdge(t *testing.T, control string) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "edge")
	if out, err := exec.Command("go", "build", "-o", bin, "../edge").CombinedOutput(); err != nil {
		t.Fatalf("build the edge: %v\n%s", err, out)
	}
	config := writeFile(t, "state: state\nlisten: {control: "+control+"}\n")
	edge := exec.Command(bin, "serve", "--config", config, "--log-level", "error")
	var stderr bytes.Buffer
	edge.Stderr = &stderr
	out, err := edge.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := edge.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = edge.Process.Signal(syscall.SIGTERM)
		_ = edge.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		_ = edge.Wait()
		t.Fatalf("the edge isn't ready: %v: %s%s", err, line, &stderr)
	}
}

// The daemons together: a script fails, is mended, passes, and its record is
// still there after a restart.
// Ledger: SV-9, SV-24, EV-22
func TestSetupRunsByTheDaemons(t *testing.T) {
	t.Parallel()
	bin := program(t)
	control := filepath.Join(t.TempDir(), "edge.sock")
	startEdge(t, control)
	config := writeFile(t, "state: state\nlisten: 127.0.0.1:0\nedge: {control: "+control+"}\n")
	daemon := serve(t, bin, "--config", config)
	client, err := apiclient.New("http://"+daemon.API, daemon.AdminKey)
	if err != nil {
		t.Fatal(err)
	}
	verify := true
	made, err := client.CreateEnvironmentWithBodyWithResponse(t.Context(), &apiclient.CreateEnvironmentParams{Verify: &verify},
		"application/json", strings.NewReader(`{"name":"a","provider":"runs","setup":{"script":"echo one\nfalse"}}`))
	if err != nil {
		t.Fatal(err)
	}
	id := made.JSON201.EnvironmentId
	failed := awaitVerdict(t, client, id)
	if failed.Status != "failed" || failed.LastRun == nil || *failed.LastRun.FailedLine != 2 || *failed.LastRun.FailedCommand != "false" {
		t.Errorf("the failing script: %s %+v", failed.Status, failed.LastRun)
	}
	log, err := client.GetEnvironmentSetupRunLogWithResponse(t.Context(), id, failed.LastRun.SetupRunId, nil)
	if err != nil || !strings.Contains(string(log.Body), `"text":"one"`) {
		t.Errorf("log: %s, %v", log.Body, err)
	}
	_, err = client.UpdateEnvironmentWithBodyWithResponse(t.Context(), id, &apiclient.UpdateEnvironmentParams{Verify: &verify},
		"application/json", strings.NewReader(`{"setup":{"script":"echo two > /workspace/two"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if v := awaitVerdict(t, client, id); v.Status != "verified" || v.Stale || v.Image == nil || *v.Image != "usable" {
		t.Errorf("the mended script: %+v %+v", v, v.LastRun)
	}
	// A run that the end of the daemon interrupts has ended after it.
	_, err = client.UpdateEnvironmentWithBodyWithResponse(t.Context(), id, &apiclient.UpdateEnvironmentParams{Verify: &verify},
		"application/json", strings.NewReader(`{"setup":{"script":"sleep 600"}}`))
	if err != nil {
		t.Fatal(err)
	}
	daemon.stop(t)
	again := serve(t, bin, "--config", config)
	if client, err = apiclient.New("http://"+again.API, daemon.AdminKey); err != nil {
		t.Fatal(err)
	}
	if v := awaitVerdict(t, client, id); v.Status != "failed" || !strings.Contains(*v.LastRun.Message, "interrupted") {
		t.Errorf("after the restart: %+v %+v", v, v.LastRun)
	}
	again.stop(t)
	mustRun(t, "state", "check", "--state", filepath.Join(filepath.Dir(config), "state"))
}

// awaitVerdict waits until no run of an environment is in flight.
func awaitVerdict(t *testing.T, client *apiclient.ClientWithResponses, id string) apiclient.Verification {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	wait := int64(5)
	for time.Now().Before(deadline) {
		e, err := client.GetEnvironmentWithResponse(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		v := e.JSON200.SetupVerification
		if v.ActiveSetupRunId == nil {
			return v
		}
		if _, err := client.GetEnvironmentSetupRunWithResponse(t.Context(), id, *v.ActiveSetupRunId, &apiclient.GetEnvironmentSetupRunParams{WaitSeconds: &wait}); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the run doesn't end")
	return apiclient.Verification{}
}
