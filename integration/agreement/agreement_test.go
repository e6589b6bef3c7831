package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/edge/control"
	"github.com/sallyport/sallyport/integration/agreement/suite"
)

// built holds this command and the product's.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "agreement-programs")
	if err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"generate", "../../sandboxd/..."},
		{"build", "-o", dir, ".", "../../cmd/edge", "../../cmd/sallyport"},
	} {
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("go %v: %w\n%s", args, err, out)
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := built(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// programs returns the directory of the programs.
func programs(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, for the origins' ports and for sandboxes")
	}
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// prepared returns a directory that the command has made, with origins at
// addresses that nobody else uses.
func prepared(t *testing.T, bin string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agree") // short: the control socket is in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	base := fmt.Sprintf("127.%d.%d.0", 1+rand.IntN(254), rand.IntN(256))
	if out, err := exec.Command(filepath.Join(bin, "agreement"), "-init", dir, "-base", base).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// check runs the command, which has to find no difference.
func check(t *testing.T, bin string, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "agreement"), append([]string{"-strict"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), " 0 unsafe, 0 differ") {
		t.Errorf("%v\n%s%s", err, out, stderr.Bytes())
	}
	t.Logf("%s", out)
}

// Case: A12, A13, A15, A16, A17, A18, A32, B04, B09, B14, B15, B16, B35
func TestExplicit(t *testing.T) {
	t.Parallel()
	bin := programs(t)
	dir := prepared(t, bin)
	edge := exec.Command(filepath.Join(bin, "edge"), "serve", "--config", filepath.Join(dir, "edge.yaml"), "--until-stdin-closes")
	var stderr bytes.Buffer
	edge.Stderr = &stderr
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
	defer func() {
		stdin.Close()
		if err := edge.Wait(); err != nil {
			t.Errorf("edge: %v\n%s", err, stderr.Bytes())
		}
	}()
	var ready struct{ Proxy, Control string }
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("edge: %v\n%s", err, stderr.Bytes())
	}
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, stdout)
	client := control.NewClient(ready.Control)
	env, err := client.Env(context.Background(), "agreement")
	if err != nil {
		t.Fatal(err)
	}
	ca, err := client.Trust(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	caFile := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(caFile, []byte(ca), 0o600); err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	check(t, bin, "-dir", dir, "-proxy", "http://agreement:"+string(token)+"@"+ready.Proxy, "-ca", caFile, "-placeholder", env["AGREEMENT_TOKEN"])
}

// The same rows from within a sandbox that knows of no proxy.
//
// Case: A12, A13, A15, A16, A32, A40, B04, B15, B16, B34, B35
func TestTransparent(t *testing.T) {
	t.Parallel()
	bin := programs(t)
	dir := prepared(t, bin)
	workspace := t.TempDir()
	program, err := os.ReadFile(filepath.Join(bin, "agreement"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(workspace, "agreement"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	hosts, literal := addresses(t, dir)
	args := []string{"-dir", dir, "--", filepath.Join(bin, "sallyport"), "run",
		"--allow", suite.Bound, "--allow", suite.Allowed,
		"--secret", "AGREEMENT_TOKEN@" + suite.Bound, "--secret-from", "AGREEMENT_TOKEN=file:" + filepath.Join(dir, "secret"),
		"--upstream-ca", filepath.Join(dir, "origin-ca.pem"), "--workspace", workspace}
	for host, addr := range hosts {
		for _, port := range []string{"443", "80", "8443"} {
			args = append(args, "--resolve", host+":"+port+"="+addr+":"+port)
		}
	}
	check(t, bin, append(args, "--", "/workspace/agreement", "-play", "-literal", literal)...)
}

// addresses reads the hosts file that the command has made. The literal is the
// address after the last.
func addresses(t *testing.T, dir string) (hosts map[string]string, literal string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "hosts"))
	if err != nil {
		t.Fatal(err)
	}
	hosts = map[string]string{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		hosts[f[1]] = f[0]
	}
	literal = strings.TrimSuffix(hosts[suite.Denied], "3") + "4"
	hosts[literal] = literal
	return hosts, literal
}

func TestRowsAreWellFormed(t *testing.T) {
	t.Parallel()
	rows := suite.Rows()
	if len(rows) < 150 {
		t.Errorf("%d rows", len(rows))
	}
	seen := map[string]bool{}
	for _, r := range rows {
		if seen[r.ID] || r.Reason == "" || len(r.Answers) == 0 {
			t.Errorf("row %+v", r)
		}
		seen[r.ID] = true
	}
	out, err := exec.Command("go", "run", ".", "-list").Output()
	if err != nil || bytes.Count(out, []byte("\n")) != len(rows) {
		t.Errorf("-list: %v, %d lines for %d rows", err, bytes.Count(out, []byte("\n")), len(rows))
	}
}
