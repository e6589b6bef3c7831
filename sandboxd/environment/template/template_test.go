package template_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/environment/script"
	"github.com/sallyport/sallyport/sandboxd/environment/template"
)

// Ledger: SV-47
func TestTemplates(t *testing.T) {
	t.Parallel()
	hosts := map[string][]string{"pip": {"pip.example.com", "files.example.com"}, "npm": {"npm.example.com"}, "apt": {"apt.example.com"}, "go": {"go.example.com"}}
	want := []string{
		"python-uv|Python project with uv|false|[files.example.com pip.example.com]",
		"node-npm|Node project with npm|false|[npm.example.com]",
		"system-tools|System packages with apt|false|[apt.example.com]",
		"gpu-pytorch|GPU: PyTorch with CUDA|true|[files.example.com pip.example.com]",
	}
	all := template.All(hosts)
	for i, x := range all {
		if got := fmt.Sprintf("%s|%s|%v|%v", x.ID, x.Title, x.Accelerator, x.NetworkHosts); i >= len(want) || got != want[i] {
			t.Errorf("template %d is %s", i, got)
		}
		if x.Description == "" || x.Script != script.Normalise(x.Script) {
			t.Errorf("%s: no description, or a script that isn't in normal form", x.ID)
		}
		if w := script.Read(x.Script).Warnings(); len(w) > 0 {
			t.Errorf("%s: %+v", x.ID, w)
		}
		// To see that the reader read all of it, a last line must give advice.
		if w := script.Read(x.Script + "rm -rf /\n").Warnings(); len(w) != 1 || w[0].Line != strings.Count(x.Script, "\n")+1 {
			t.Errorf("%s doesn't parse to its end: %+v", x.ID, w)
		}
		for name := range strings.SplitSeq("https:// http:// index-url --registry", " ") {
			if strings.Contains(x.Script, name) {
				t.Errorf("%s names a host", x.ID)
			}
		}
	}
	if len(all) != len(want) || !slices.Equal(template.Tools(), []string{"apt", "npm", "pip"}) {
		t.Errorf("%d templates, tools %v", len(all), template.Tools())
	}
}

// Ledger: SV-48
func TestTemplatesAreCopies(t *testing.T) {
	t.Parallel()
	mine := template.All(map[string][]string{"npm": {"npm.example.com"}})
	mine[1].NetworkHosts[0], mine[1].Script = "changed", "changed"
	if x := template.All(nil)[1]; x.Script == "changed" || len(x.NetworkHosts) != 0 {
		t.Errorf("a template remembers: %+v", x)
	}
}
