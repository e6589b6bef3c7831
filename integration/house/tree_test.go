package house_test

import (
	"bytes"
	"go/format"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// topLevel is all that may stand at the root, besides dot-files.
var topLevel = []string{
	"LICENSE", "Makefile", "README.md", "broker", "certs", "cmd", "edge", "go.mod", "go.sum",
	"inject", "integration", "policy", "sandboxd",
}

// maxLines is the length at which a Go file is split.
const maxLines = 500

func TestTopLevelIsFixed(t *testing.T) {
	t.Parallel()
	for name := range files(t) {
		top, _, _ := strings.Cut(name, "/")
		if !strings.HasPrefix(top, ".") && !slices.Contains(topLevel, top) {
			t.Errorf("%s: nothing new at the root: find its folder", name)
		}
	}
}

func TestFilesAreFormattedAndShort(t *testing.T) {
	t.Parallel()
	for name, text := range files(t) {
		if filepath.Ext(name) != ".go" {
			continue
		}
		formatted, err := format.Source(text)
		if err != nil {
			t.Errorf("parse %s: %v", name, err)
		} else if !bytes.Equal(formatted, text) {
			t.Errorf("%s: run gofmt", name)
		}
		if n := bytes.Count(text, []byte("\n")); n > maxLines && !generated(text) {
			t.Errorf("%s: %d lines: split it by concept", name, n)
		}
	}
}

// generated reports whether a file says that a program wrote it, in the words
// that Go's tools know. Nobody reads such a file from end to end.
func generated(text []byte) bool {
	return regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`).Match(text)
}

func TestNothingIsLeftUnfinished(t *testing.T) {
	t.Parallel()
	marks := regexp.MustCompile(`\b(` + strings.Join([]string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"}, "|") + `)\b`)
	for name, text := range files(t) {
		if filepath.Ext(name) == ".go" {
			if mark := marks.Find(text); mark != nil {
				t.Errorf("%s: holds %s: do it, or file it", name, mark)
			}
		}
	}
}

// Which registry a machine uses is that machine's configuration: no file of
// ours may know it, and tests read it at run time.
func TestNoRegistryIsNamed(t *testing.T) {
	t.Parallel()
	hosts := registryHosts(t)
	if len(hosts) == 0 {
		t.Fatal("no registry is configured for npm, go or apt: the test has nothing to look for")
	}
	for name, text := range files(t) {
		for _, host := range hosts {
			if bytes.Contains(text, []byte(host)) {
				t.Errorf("%s: names the registry host %s", name, host)
			}
		}
	}
}

// registryHosts reads the configured hosts of npm, go and apt.
func registryHosts(t *testing.T) []string {
	t.Helper()
	var text []byte
	for _, argv := range [][]string{{"npm", "config", "get", "registry"}, {"go", "env", "GOPROXY"}} {
		out, err := exec.Command(argv[0], argv[1:]...).Output()
		if err != nil {
			t.Fatalf("run %s: %v", strings.Join(argv, " "), err)
		}
		text = append(text, out...)
	}
	sources, err := filepath.Glob("/etc/apt/sources.list.d/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(sources, "/etc/apt/sources.list") {
		if b, err := os.ReadFile(path); err == nil {
			text = append(append(text, '\n'), b...)
		}
	}
	var hosts []string
	for _, raw := range regexp.MustCompile(`https?://[^\s,|]+`).FindAllString(string(text), -1) {
		if u, err := url.Parse(raw); err == nil {
			hosts = append(hosts, u.Hostname())
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// files returns the text of every file that git tracks or would track.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list files: %v", err)
	}
	texts := map[string][]byte{}
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(cmd.Dir, name))
		if os.IsNotExist(err) {
			continue // deleted, not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = text
	}
	return texts
}
