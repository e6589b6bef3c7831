package runs_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// initProgram is the init, built for the tests.
var initProgram string

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerEnv); dir != "" {
		own(dir)
		return
	}
	if dir := os.Getenv(ordinaryEnv); dir != "" {
		os.Exit(ordinary(dir))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "runs-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	initProgram = filepath.Join(dir, "sbinit")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", initProgram, "./sbinit")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build init: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

const testTimeout = time.Minute

func newProvider(t testing.TB) *runs.Provider {
	t.Helper()
	p, _ := providerIn(t)
	return p
}

// providerIn returns a provider and its state directory.
func providerIn(t testing.TB) (*runs.Provider, string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes namespaces")
	}
	dir := t.TempDir()
	p, err := runs.New(runs.Config{StateDir: dir, Init: initProgram})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, dir
}

var lastID int

// newSandbox starts a sandbox that ends with the test.
func newSandbox(t testing.TB, p *runs.Provider, change func(*runs.Spec)) (*runs.Sandbox, *runs.Network) {
	t.Helper()
	n, err := p.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	lastID++
	spec := runs.Spec{ID: fmt.Sprintf("test-%d-%d", os.Getpid(), lastID), Network: n}
	if change != nil {
		change(&spec)
	}
	sb, err := p.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		if err := sb.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return sb, n
}

// output runs a command and returns what it wrote and how it ended.
func output(t testing.TB, sb *runs.Sandbox, e runs.Exec) (string, runs.Exit) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	var out bytes.Buffer
	e.Stdout, e.Stderr = &out, &out
	p, err := sb.Exec(ctx, e)
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(ctx)
	if err != nil {
		t.Fatalf("wait: %v\n%s", err, out.String())
	}
	return strings.TrimSpace(out.String()), exit
}

func shell(script string) runs.Exec {
	return runs.Exec{Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin:/usr/sbin", "HOME=/home/user"}}
}
