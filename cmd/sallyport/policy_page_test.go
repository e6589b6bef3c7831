package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var fenced = regexp.MustCompile("(?ms)^```(\\w+)(?: ([^\n]+))?\n(.*?)^```$")

// TestPolicyPage runs the page for security teams from top to bottom: a block
// with a name is a file, a block of shell is run, and a block of text after it
// is what it prints.
func TestPolicyPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../policy/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var script, files strings.Builder
	commands := 0
	for i, block := range fenced.FindAllStringSubmatch(string(page), -1) {
		kind, info, body := block[1], block[2], block[3]
		name := info
		switch kind {
		case "sh":
			name = fmt.Sprintf("block%d.sh", i)
			code := "0"
			if after, ok := strings.CutPrefix(info, "exit="); ok {
				code = after
			}
			fmt.Fprintf(&script, "exits %s sh -e %s\n", code, name)
			commands += strings.Count(body, "\n")
		case "text":
			name = fmt.Sprintf("block%d.txt", i)
			fmt.Fprintf(&script, "cmp stdout %s\n", name)
		}
		if name == "" {
			t.Fatalf("a block of %s is neither a file nor a command:\n%s", kind, body)
		}
		fmt.Fprintf(&files, "-- %s --\n%s", name, body)
	}
	if commands < 15 {
		t.Errorf("only %d commands", commands)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "page.txt"), []byte(script.String()+"\n"+files.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:  dir,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}
