package diff_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/diff"
	"github.com/sallyport/sallyport/policy/hostlang/hosttest"
)

var update = flag.Bool("update", false, "write what diff says to testdata/known")

func describe(c diff.Change) string {
	part := "part of"
	if c.Whole {
		part = "all of"
	}
	return fmt.Sprintf("%s %s %s at %s: rule %d to rule %d\n", c.Direction, part, c.Pattern, c.Witness, c.Old.Index, c.New.Index)
}

// Each pair of policies in testdata/known differs as it says there.
func TestKnownDifferences(t *testing.T) {
	t.Parallel()
	const file = "../testdata/known/diff.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(archive.Files); i += 3 {
		name, _, _ := strings.Cut(archive.Files[i].Name, "/")
		before, after, want := archive.Files[i].Data, archive.Files[i+1].Data, &archive.Files[i+2]
		t.Run(name, func(t *testing.T) {
			o, n := parse(t, before), parse(t, after)
			changes, err := diff.Compare(o, n)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, c := range changes {
				got += describe(c)
			}
			if *update {
				want.Data = []byte(got)
			} else if d := cmp.Diff(string(want.Data), got); d != "" {
				t.Error(d)
			}
			if _, found, err := diff.Difference(o, n); err != nil || found != (len(changes) > 0) {
				t.Errorf("difference %v, %v; changes %+v", found, err, changes)
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func parse(t testing.TB, data []byte) policy.Document {
	t.Helper()
	doc, err := policy.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Every host whose verdict changes is in a change of its rules, and each
// change has a host.
func TestAgreesWithBruteForce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	var hosts []policy.Host
	hosttest.EveryHost("ab1-.", 5, func(h policy.Host) { hosts = append(hosts, h) })
	for range 200 {
		before, after := hosttest.RandomPolicy(r), hosttest.RandomPolicy(r)
		changes, err := diff.Compare(before, after)
		if err != nil {
			t.Fatal(err)
		}
		was, is := compile(t, before), compile(t, after)
		type pair struct{ old, new int }
		found := map[pair]diff.Change{}
		for _, c := range changes {
			found[pair{c.Old.Index, c.New.Index}] = c
			if a, b := was.Decide(c.Witness), is.Decide(c.Witness); a.Action == b.Action || (b.Action == policy.Allow) != (c.Direction == diff.Widening) {
				t.Fatalf("%+v, %+v: %s is no %s", before, after, c.Witness, c.Direction)
			}
		}
		for _, h := range hosts {
			a, b := was.Decide(h), is.Decide(h)
			c, ok := found[pair{a.Rule, b.Rule}]
			if ok != (a.Action != b.Action) {
				t.Fatalf("%+v, %+v: %s changes from %+v to %+v and is in %+v", before, after, h, a, b, c)
			}
			if matches(t, c.Pattern, h) != ok && (ok || c.Whole) {
				t.Fatalf("%+v, %+v: %s and the change %+v", before, after, h, c)
			}
		}
	}
}

func compile(t testing.TB, doc policy.Document) *policy.Policy {
	t.Helper()
	p, err := policy.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func matches(t testing.TB, glob string, h policy.Host) bool {
	t.Helper()
	if glob == "" {
		return false
	}
	return compile(t, policy.Document{Rules: []policy.Rule{{HostGlob: glob}}}).Decide(h).Rule == 0
}

func host(t testing.TB, s string) policy.Host {
	t.Helper()
	h, err := policy.CanonicalHost(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Ledger: NP-23: a secret travels only where the policy allows its host.
func TestRadius(t *testing.T) {
	t.Parallel()
	api, git := host(t, "api.example.com"), host(t, "git.example.com")
	held := diff.Holdings{
		Bindings: []diff.Binding{{Name: "API_TOKEN", Host: api, Port: 443}},
		Grants:   []diff.Grant{{Repository: "octo/app", Host: git}, {Repository: "octo/lib", Host: git, Write: true}},
	}
	nothing := policy.Document{}
	all := policy.Document{Unrestricted: true}
	onlyGit := policy.Document{Rules: []policy.Rule{{HostGlob: "git.*.com", Action: policy.Allow}}}
	wider := held
	wider.Grants = []diff.Grant{{Repository: "octo/app", Host: git, Write: true}}
	cases := []struct {
		name          string
		before, after policy.Document
		held, holds   diff.Holdings
		want          []string
	}{
		{"opened", nothing, all, held, held, []string{
			"repository octo/app is now readable through git.example.com",
			"repository octo/lib is now readable through git.example.com",
			"repository octo/lib is now writable through git.example.com",
			"secret API_TOKEN now travels to api.example.com:443",
		}},
		{"closed", all, onlyGit, held, held, []string{"secret API_TOKEN no longer travels to api.example.com:443"}},
		{"same", onlyGit, onlyGit, held, held, nil},
		{"other grants", onlyGit, onlyGit, held, wider, []string{
			"repository octo/app is now writable through git.example.com",
			"repository octo/lib is no longer readable through git.example.com",
			"repository octo/lib is no longer writable through git.example.com",
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			effects, err := diff.Radius(c.before, c.after, c.held, c.holds)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range effects {
				got = append(got, e.String())
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
