package house_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	caseRow    = regexp.MustCompile(`^\| ([A-Z]\d\d) \| [^|]+ \| (.+) \|$`)
	caseFolder = regexp.MustCompile("^`([a-z0-9/]+)`: (.+)$")
	caseCited  = regexp.MustCompile(`\b[A-Z]\d\d\b`)
)

// CASES.md lists every case of areas A and B with tests that exist in the
// folder named, and that folder cites the case.
func TestCasesAreTests(t *testing.T) {
	t.Parallel()
	all := files(t)
	tests, cited := map[string]bool{}, map[string]bool{} // "folder name", "folder id"
	for name, text := range all {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "func "); ok {
				function, _, _ := strings.Cut(rest, "(")
				tests[path.Dir(name)+" "+function] = true
			}
			if _, ids, ok := strings.Cut(line, "Case: "); ok {
				for _, id := range caseCited.FindAllString(ids, -1) {
					cited[path.Dir(name)+" "+id] = true
				}
			}
		}
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(all["integration/CASES.md"])) {
		row := caseRow.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if row == nil {
			continue
		}
		id := row[1]
		listed[id] = true
		for part := range strings.SplitSeq(row[2], "; ") {
			f := caseFolder.FindStringSubmatch(part)
			if f == nil {
				t.Errorf("%s: malformed %q", id, part)
				continue
			}
			if !cited[f[1]+" "+id] {
				t.Errorf("%s: no test in %s cites it", id, f[1])
			}
			for name := range strings.SplitSeq(f[2], ", ") {
				if !tests[f[1]+" "+strings.Trim(name, "`")] {
					t.Errorf("%s: there is no %s in %s", id, name, f[1])
				}
			}
		}
	}
	if len(listed) < 49 {
		t.Errorf("%d cases are listed", len(listed))
	}
	for where := range cited {
		_, id, _ := strings.Cut(where, " ")
		if (id[0] == 'A' || id[0] == 'B' || id[0] == 'C') && !listed[id] {
			t.Errorf("%s is cited but not in integration/CASES.md", where)
		}
	}
}
