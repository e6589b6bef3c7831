package lint_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/net/publicsuffix"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/lint"
)

var update = flag.Bool("update", false, "write what lint says to testdata/known")

// isSuffix takes what the list has, and not each top-level name.
func isSuffix(name string) bool {
	suffix, listed := publicsuffix.PublicSuffix(name)
	return suffix == name && (listed || strings.Contains(suffix, "."))
}

// Each policy of testdata/known has the findings that stand beside it, and each
// finding is held against Decide.
//
// Ledger: NP-49
func TestKnownPolicies(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/known/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range archive.Files {
			name, ok := strings.CutSuffix(f.Name, "/policy.yaml")
			if !ok {
				continue
			}
			want := &archive.Files[i+1]
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				doc, err := policy.Parse(f.Data)
				if err != nil {
					t.Fatal(err)
				}
				findings, err := lint.Check(doc, lint.Options{PublicSuffix: isSuffix})
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, f := range findings {
					checkFinding(t, doc, f)
					got += fmt.Sprintf("%s %s rule %d by %v at %s: %s\n", f.Severity, f.Code, f.Rule, f.Related, f.Witness, f.Message)
				}
				if *update {
					want.Data = []byte(got)
				} else if d := cmp.Diff(string(want.Data), got); d != "" {
					t.Error(d)
				}
			})
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// checkFinding holds a finding about reach against the code that enforces.
func checkFinding(t *testing.T, doc policy.Document, f lint.Finding) {
	t.Helper()
	if len(f.Related) == 0 {
		return
	}
	all, err := policy.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := policy.Compile(policy.Document{Rules: doc.Rules[f.Rule : f.Rule+1]})
	if err != nil {
		t.Fatal(err)
	}
	if alone.Decide(f.Witness).Rule != 0 {
		t.Errorf("%s is no host of rule %d", f.Witness, f.Rule)
	}
	if d := all.Decide(f.Witness); d.Rule < 0 || d.Rule >= f.Rule {
		t.Errorf("%s is decided by rule %d", f.Witness, d.Rule)
	}
}
