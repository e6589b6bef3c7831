// Package providertest is the suite that every implementation of package
// provider passes. An implementation's test calls Run.
package providertest

import (
	"bytes"
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/sandboxd/provider"
)

const timeout = time.Minute

// Suite says what to test.
type Suite struct {
	// New returns a provider that works here, with state of its own.
	New func(t *testing.T) provider.Provider
}

// Run runs the suite. What a provider declares not to have isn't asked of it.
func Run(t *testing.T, s Suite) {
	t.Helper()
	for _, c := range []struct {
		name  string
		needs provider.Capability
		test  func(*testing.T, *bench)
	}{
		{"describe", "", testDescribe},
		{"network", provider.NetworkPolicy, testNetwork},
		{"start and stop", "", testLife},
		{"exec", "", testExec},
		{"signal", "", testSignal},
		{"files", "", testFiles},
		{"root", provider.Root, testRoot},
		{"terminal", provider.Terminal, testTerminal},
		{"memory", provider.Limited, testMemory},
		{"disk", provider.Disk, testDisk},
		{"capture", provider.Capture, testCapture},
		{"capture of a disk", provider.Disk, testCaptureDisk},
		{"capture over layers", provider.Capture, testCaptureOver},
		{"captures are alone", provider.Capture, testCaptureAlone},
		{"layers", provider.Capture, testLayers},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &bench{provider: s.New(t)}
			if c.needs != "" && !b.provider.Describe(t.Context()).Has(c.needs) {
				t.Skipf("needs the capability %s", c.needs)
			}
			c.test(t, b)
		})
	}
}

// bench is a provider at work.
type bench struct{ provider provider.Provider }

// host is the image that tests start on.
var host = provider.Image{Host: true}

// sandbox is one with the shell's answers at hand.
type sandbox struct {
	provider.Sandbox
}

func newID() string { return "suite-" + strings.ToLower(rand.Text()[:12]) }

// start starts a sandbox that ends with the test.
func (b *bench) start(t *testing.T, change func(*provider.Spec)) sandbox {
	t.Helper()
	n, err := b.provider.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	spec := provider.Spec{ID: newID(), Network: n, Image: host}
	if change != nil {
		change(&spec)
	}
	sb, err := b.provider.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, sb) })
	return sandbox{sb}
}

func stop(t *testing.T, sb provider.Sandbox) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := sb.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// result is what a command wrote and how it ended.
type result struct {
	stdout, stderr string
	exit           provider.Exit
}

func (sb sandbox) run(t *testing.T, e provider.Exec) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	e.Stdout, e.Stderr = &stdout, &stderr
	p, err := sb.Exec(ctx, e)
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(ctx)
	if err != nil {
		t.Fatalf("wait: %v\n%s", err, stderr.String())
	}
	return result{strings.TrimSpace(stdout.String()), strings.TrimSpace(stderr.String()), exit}
}

func shell(script string) provider.Exec {
	return provider.Exec{
		Argv: []string{"sh", "-c", script},
		Env:  []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/user"},
	}
}

// sh runs a script that must pass and returns what it wrote.
func (sb sandbox) sh(t *testing.T, script string) string {
	t.Helper()
	r := sb.run(t, shell(script))
	if r.exit.Code != 0 {
		t.Fatalf("%s: exit %+v\n%s\n%s", script, r.exit, r.stdout, r.stderr)
	}
	return r.stdout
}

func (sb sandbox) asRoot(t *testing.T, script string) string {
	t.Helper()
	e := shell(script)
	e.User = "root"
	r := sb.run(t, e)
	if r.exit.Code != 0 {
		t.Fatalf("%s: exit %+v\n%s\n%s", script, r.exit, r.stdout, r.stderr)
	}
	return r.stdout
}
