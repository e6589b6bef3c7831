package toolhosts_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/toolhosts"
)

// Each tool is a program that prints what the real one prints.
//
// Ledger: NP-50
func TestHosts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"apt-get": "echo https://apt.example.com/debian/; echo http://security.example.com/debian/; echo https://apt.example.com/debian/",
		"npm":     "echo https://npm.example.com/mirror/",
		"go":      `case $2 in GOPROXY) echo 'https://proxy.example.com|https://b.example.com,direct';; *) echo sum.example.com+abc;; esac`,
		"git":     "echo remote.a.url https://git.example.com/o/r; echo remote.b.url git@ssh.example.com:o/r; echo remote.c.url ../local",
		"pip":     `echo "global.index-url='https://pip.example.com/simple'"; echo "global.extra-index-url='https://x.example.com/ https://y.example.com/'"`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil { //nolint:gosec // it has to be run
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	want := map[string][]string{
		"apt": {"apt.example.com", "security.example.com"},
		"npm": {"npm.example.com"},
		"go":  {"proxy.example.com", "b.example.com", "sum.example.com"},
		"git": {"git.example.com", "ssh.example.com"},
		"pip": {"pip.example.com", "x.example.com", "y.example.com"},
	}
	for _, tool := range toolhosts.Tools() {
		hosts, err := tool.Hosts(t.Context())
		if err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
		if expected, ok := want[tool.Name]; ok && !slices.Equal(hosts, expected) {
			t.Errorf("%s: %v, want %v", tool.Name, hosts, expected)
		}
		for _, h := range hosts {
			if _, err := policy.CanonicalHost(h); err != nil {
				t.Errorf("%s: %v", tool.Name, err)
			}
		}
	}
	if known := toolhosts.Known(t.Context(), []string{"npm", "apt"}); len(known) != 2 || !slices.Equal(known["npm"], want["npm"]) {
		t.Errorf("known %v", known)
	}
}

func TestToolsThatCannotSay(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, tool := range toolhosts.Tools() {
		if tool.Name == "github" {
			continue // its hosts are no matter of configuration
		}
		if hosts, err := tool.Hosts(context.Background()); err == nil {
			t.Errorf("%s: %v", tool.Name, hosts)
		}
	}
	if known := toolhosts.Known(context.Background(), []string{"npm", "pip"}); len(known) != 0 {
		t.Errorf("known %v", known)
	}
}
