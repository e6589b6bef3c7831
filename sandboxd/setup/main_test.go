package setup_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/edge/control"
)

// programs are built for the tests: the init of sandboxes and the edge.
var programs string

// edge is one for all tests: each run has its own boundary.
var edge *edgeProcess

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "setup-test-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	programs = dir
	for name, pkg := range map[string]string{"sbinit": "../provider/runs/sbinit", "edge": "../../cmd/edge"} {
		build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", filepath.Join(dir, name), pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	if edge, err = startEdge(dir); err != nil {
		return 1, err
	}
	code := m.Run()
	return code, edge.stop()
}

type edgeProcess struct {
	client *control.Client
	audit  string
	cmd    *exec.Cmd
	stdin  io.Closer
}

func startEdge(dir string) (*edgeProcess, error) {
	e := &edgeProcess{audit: filepath.Join(dir, "audit.jsonl")}
	doc := config.Document{State: dir, Audit: e.audit, Listen: config.DocumentListen{Control: filepath.Join(dir, "control")}}
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "edge.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, err
	}
	e.cmd = exec.Command(filepath.Join(dir, "edge"), "serve", "--config", file, "--ephemeral", "--until-stdin-closes", "--log-level", "warn")
	e.cmd.Stderr = os.Stderr
	if e.stdin, err = e.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("start edge: %w", err), e.stop())
	}
	e.client = control.NewClient(doc.Listen.Control)
	return e, nil
}

func (e *edgeProcess) stop() error {
	_ = e.stdin.Close()
	return e.cmd.Wait()
}

// boundaries returns how many boundaries are open.
func (e *edgeProcess) boundaries(t testing.TB) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	h, err := e.client.Health(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return h.Boundaries
}
