package house_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var documents = []string{"README.md", ".github/CONTRIBUTING.md", ".github/SECURITY.md"}

func TestMakeTargetsInDocumentsExist(t *testing.T) {
	t.Parallel()
	tree := files(t)
	for _, name := range documents {
		mentions := regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)").FindAllSubmatch(tree[name], -1)
		for _, m := range mentions {
			if !regexp.MustCompile(`(?m)^` + string(m[1]) + `:`).Match(tree["Makefile"]) {
				t.Errorf("%s: the Makefile has no target %q", name, m[1])
			}
		}
	}
	if !strings.Contains(string(tree["README.md"]), "make demo") || !strings.Contains(string(tree["README.md"]), "make test") {
		t.Error("README.md: make demo and make test are a newcomer's two commands")
	}
}

// Each promise of SECURITY.md names the tests that prove it.
func TestPromisesNameExistingTests(t *testing.T) {
	t.Parallel()
	tree := files(t)
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for name, text := range tree {
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range function.FindAllSubmatch(text, -1) {
				declared[string(m[1])] = true
			}
		}
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllSubmatch(tree[".github/SECURITY.md"], -1)
	if len(named) == 0 {
		t.Error("SECURITY.md names no test")
	}
	for _, m := range named {
		if !declared[string(m[1])] {
			t.Errorf("SECURITY.md: no test is called %s", m[1])
		}
	}
}

func TestLinksInDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	tree := files(t)
	folders := map[string]bool{}
	for name := range tree {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	link := regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	for _, name := range documents {
		for _, m := range link.FindAllSubmatch(tree[name], -1) {
			target := string(m[1])
			if strings.Contains(target, "://") {
				continue
			}
			target = path.Join(path.Dir(name), target)
			if _, isFile := tree[target]; !isFile && !folders[target] {
				t.Errorf("%s: links to %s, which doesn't exist", name, target)
			}
		}
	}
}

// Ledger: ED-24
func TestRefusalCodesAreDocumented(t *testing.T) {
	t.Parallel()
	tree := files(t)
	var codes []string
	for name, text := range tree {
		if path.Dir(name) == "edge/refusal" && !strings.HasSuffix(name, "_test.go") {
			for _, m := range regexp.MustCompile(`(?m)^\s+\w+\s+Code\s+= "(\w+)"`).FindAllSubmatch(text, -1) {
				codes = append(codes, string(m[1]))
			}
		}
	}
	var rows []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllSubmatch(tree["edge/refusal/README.md"], -1) {
		rows = append(rows, string(m[1]))
	}
	slices.Sort(codes)
	slices.Sort(rows)
	if len(codes) == 0 || !slices.Equal(codes, rows) {
		t.Errorf("edge/refusal/README.md lists\n%q, edge/refusal has\n%q", rows, codes)
	}
}
