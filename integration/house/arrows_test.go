// Package house_test holds the rules of the house: which package may reach
// which, what may not stand in the tree, and that the documents are true.
package house_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sallyport/sallyport"

// An arrow bounds what the packages below from may reach. Paths of our own are
// relative to the module, others are import paths; each stands for itself and
// all below it.
type arrow struct {
	from   string
	ours   []string // all of ours that may be reached; nil means none
	never  []string // not reached, however far away
	direct []string // not imported by the package itself
	std    bool     // nothing but the standard library and ours
	reason string
}

var arrows = []arrow{
	{
		from:   "policy",
		never:  []string{"net", "net/http", "crypto/tls", "log/slog"},
		direct: []string{"os", "io/fs", "time", "context"},
		reason: "a decision is pure: no I/O, no clock, nothing of ours",
	},
	{
		from:   "certs",
		never:  []string{"net/http"},
		reason: "the authority knows nothing of proxies and policies, so its key is held by one small package",
	},
	{
		from:   "certs/variables",
		ours:   []string{"certs/variables"},
		std:    true,
		reason: "names alone, so that whoever checks definitions links no authority",
	},
	{
		from:   "inject/secret",
		never:  []string{"net/http"},
		reason: "every source imports it, so it imports none",
	},
	{
		from:   "broker/gitcred",
		std:    true,
		reason: "it is linked into a program that every sandbox gets",
	},
	{
		from:   "cmd/git-credential-sallyport",
		ours:   []string{"broker/gitcred"},
		never:  []string{"net/http", "crypto/tls"},
		std:    true,
		reason: "every sandbox gets it, so it is small and knows nothing",
	},
	{
		from:   "edge/boundary",
		ours:   []string{"policy", "inject", "inject/secret", "edge/boundary", "broker"},
		never:  []string{"github.com/elazarl/goproxy", "github.com/hashicorp/vault"},
		reason: "sandboxd links it, and must not get a proxy with it",
	},
	{
		from:   "sandboxd",
		ours:   []string{"sandboxd", "edge/boundary", "edge/control", "edge/strict", "policy", "inject", "broker", "certs/variables"},
		never:  []string{"github.com/elazarl/goproxy", "github.com/hashicorp/vault", "filippo.io/age"},
		reason: "who runs sandboxes as root holds no secret, no CA key and no proxy",
	},
	{
		from:   "sandboxd/environment",
		ours:   []string{"sandboxd/environment", "sandboxd/fault", "sandboxd/machine", "sandboxd/strict", "certs/variables", "policy"},
		never:  []string{"net/http", "os/exec", "database/sql"},
		direct: []string{"os", "io/fs", "context"},
		reason: "what a definition means is pure: no I/O, no clock, and whoever runs one imports this",
	},
	{
		from:   "sandboxd/machine",
		ours:   []string{"sandboxd/machine"},
		std:    true,
		never:  []string{"net", "os/exec"},
		reason: "the machine catalogue is passed in, never read",
	},
	{
		from:   "sandboxd/provider",
		ours:   []string{"sandboxd/provider"},
		reason: "a provider isolates; it knows nothing of policies and proxies, only of sockets it hands out",
	},
	{
		from:   "edge",
		ours:   []string{"edge", "policy", "certs", "inject", "broker"},
		reason: "the process that reads hostile bytes has no code that starts sandboxes",
	},
}

func TestArrows(t *testing.T) {
	t.Parallel()
	all := load(t)
	for _, a := range arrows {
		t.Run(strings.ReplaceAll(a.from, "/", "_"), func(t *testing.T) {
			t.Parallel()
			found := false
			for path, p := range all {
				if under(path, a.from) {
					found = true
					a.check(t, all, p)
				}
			}
			if !found {
				t.Errorf("no package below %q: the row holds nothing", a.from)
			}
		})
	}
}

func (a arrow) check(t *testing.T, all map[string]pkg, p pkg) {
	t.Helper()
	for _, path := range p.Imports {
		if slices.Contains(a.direct, path) {
			t.Errorf("%s imports %s: %s", p.ImportPath, path, a.reason)
		}
	}
	for path, via := range reach(all, p) {
		dep := all[path]
		switch {
		case dep.ours() && !under(path, a.from) && !underAny(path, a.ours),
			!dep.ours() && slices.ContainsFunc(a.never, func(n string) bool { return path == n || !dep.Standard && strings.HasPrefix(path, n+"/") }),
			!dep.ours() && !dep.Standard && a.std && path != "C":
			t.Errorf("%s reaches %s (through %s): %s", p.ImportPath, path, via, a.reason)
		}
	}
}

// A concrete is a folder of implementations of which only cmd may choose;
// shared names the subfolders that aren't implementations.
var concretes = []struct {
	folder string
	shared []string
	reason string
}{
	{"inject", []string{"secret", "scan", "shape", "scrub", "keyring"}, "a secret source is chosen in cmd, from an explicit map"},
	{"sandboxd/provider", nil, "a provider is chosen in cmd, from an explicit map"},
	{"broker", []string{"gitcred"}, "a credential issuer is chosen in cmd, from an explicit map"},
}

func TestConcreteChoicesAreMadeInCmd(t *testing.T) {
	t.Parallel()
	for path, p := range load(t) {
		if !p.ours() || under(path, "cmd") {
			continue
		}
		for _, imported := range p.Imports {
			for _, c := range concretes {
				rest, below := strings.CutPrefix(imported, module+"/"+c.folder+"/")
				name, _, _ := strings.Cut(rest, "/")
				if !below || slices.Contains(c.shared, name) || under(path, c.folder+"/"+name) {
					continue
				}
				t.Errorf("%s imports %s: %s", path, imported, c.reason)
			}
		}
	}
}

func TestNothingImportsCommandsOrTests(t *testing.T) {
	t.Parallel()
	for path, p := range load(t) {
		for _, imported := range p.Imports {
			for _, top := range []string{"cmd", "integration"} {
				if under(imported, top) && !under(path, top) {
					t.Errorf("%s imports %s", path, imported)
				}
			}
		}
	}
}

type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

func (p pkg) ours() bool { return under(p.ImportPath, ".") }

// load lists every package that the module builds, and all they depend on.
func load(t *testing.T) map[string]pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Standard,Imports", "./...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	all := map[string]pkg{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("decode packages: %v", err)
		}
		all[p.ImportPath] = p
	}
}

// reach returns all that p depends on, each with the package that imports it.
func reach(all map[string]pkg, p pkg) map[string]string {
	via := map[string]string{}
	queue := []string{p.ImportPath}
	for len(queue) > 0 {
		from := queue[0]
		queue = queue[1:]
		for _, path := range all[from].Imports {
			if _, seen := via[path]; !seen {
				via[path] = from
				queue = append(queue, path)
			}
		}
	}
	return via
}

// under reports whether an import path is the module's folder or below it.
func under(path, folder string) bool {
	rel, ok := strings.CutPrefix(path, module)
	rel = strings.TrimPrefix(rel, "/")
	return ok && (folder == "." || rel == folder || strings.HasPrefix(rel, folder+"/"))
}

func underAny(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return under(path, f) })
}

// root is the module's root folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
