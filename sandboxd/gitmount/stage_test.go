package gitmount_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/gitmount"
	"github.com/sallyport/sallyport/sandboxd/inside"
)

// Ledger: GB-17, GB-18.
func TestStage(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	first := b.stage(nil)
	if got := b.agent(`cat file dir/file; git rev-list --count HEAD; git remote get-url origin; git tag; git rev-parse --abbrev-ref HEAD`); got != "3\n3\n1\nhttps://example.com/octo/app.git\nHEAD" {
		t.Errorf("got %s", got)
	}
	if len(first.Saved)+len(first.Aside)+len(first.Removed) > 0 {
		t.Errorf("report of a new directory: %+v", first)
	}
	commit := b.push("app", "main", "echo 4 > file")
	for _, name := range []string{"main", "refs/heads/main", commit} {
		if got := b.stage(ref(name)); got.Commit != commit || len(got.Saved) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := b.agent(`cat file; git rev-parse origin/main`); got != "4\n"+commit {
		t.Errorf("got %s", got)
	}
	if got := b.stage(ref("v1")); got.Commit == commit || len(got.Saved) > 0 {
		t.Errorf("a tag: %+v", got)
	}
	again := b.stage(nil)
	if again.Commit != commit || len(again.Saved) > 0 {
		t.Errorf("report %+v", again)
	}
}

// Ledger: GB-25.
func TestResumeTouchesNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.stage(nil)
	b.agent(`echo mine > file; echo new > new; echo x > ignored`)
	b.push("app", "main", "echo 4 > file")
	b.before = func(c inside.Command) { t.Errorf("%q was run", c.Argv) }
	reports, err := gitmount.Stage(t.Context(), b.run, b.compile(nil), gitmount.Resume)
	if err != nil || len(reports) != 1 || reports[0].Commit != "" {
		t.Errorf("%+v, %v", reports, err)
	}
	if got := b.agent(`cat file new ignored`); got != "mine\nnew\nx" {
		t.Errorf("got %s", got)
	}
}

// Ledger: GB-18, GB-25: after a delivery the directory is the ref and nothing
// else, and what an agent left is where it can be had back.
func TestDeliverySavesWork(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.stage(nil)
	b.agent(`echo staged > file; git add file; echo mine > file; echo new > new; mkdir more; echo 'odd' > 'more/a b'; rm dir/file; echo x > ignored`)
	b.push("app", "main", "echo 4 > other")
	report := b.stage(nil)
	if len(report.Saved) != 1 || !report.Saved[0].Stash || len(report.Removed) != 1 || report.Removed[0] != "ignored" {
		t.Fatalf("report %+v", report)
	}
	if got := b.agent(`git stash apply -q --index ` + report.Saved[0].Ref + `; cat file new 'more/a b' other; git show :file; test ! -e dir/file && echo gone`); got != "mine\nnew\nodd\n4\nstaged\ngone" {
		t.Errorf("brought back: %s", got)
	}
	// Commits that no branch has, then some that one has.
	b.stage(nil)
	b.agent(`echo c > c; git add c; git commit -qm detached`)
	commit := b.agent(`git rev-parse HEAD`)
	report = b.stage(nil)
	if len(report.Saved) != 1 || report.Saved[0].Stash || report.Saved[0].Commit != commit {
		t.Errorf("report %+v", report)
	}
	b.agent(`git checkout -q -b topic; echo d > d; git add d; git commit -qm kept`)
	commit = b.agent(`git rev-parse HEAD`)
	if report = b.stage(nil); len(report.Saved) > 0 || b.agent(`git rev-parse topic`) != commit {
		t.Errorf("a branch of the agent moved: %+v", report)
	}
	// A directory that was there without a .git.
	b.agent(`rm -rf .git; echo precious > precious`)
	report = b.stage(nil)
	if len(report.Saved) != 1 || b.agent(`git show `+report.Saved[0].Ref+`:precious`) != "precious" {
		t.Errorf("report %+v", report)
	}
}

// Whatever state git was left in, the next staging works.
//
// Ledger: GB-17, GB-18.
func TestStageAfterAnything(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.push("app", "side", "echo side > file")
	b.stage(nil)
	for _, script := range []string{
		`git config core.worktree /; git config core.bare true; git config url.https://example.com/octo/other.insteadOf https://example.com/octo/app
touch .git/index.lock .git/HEAD.lock .git/shallow.lock .git/refs/heads/x.lock`,
		`git fetch -q origin side; git checkout -qb conflict; echo mine > file; git commit -qam mine; git merge --allow-unrelated-histories FETCH_HEAD || :; test -e .git/MERGE_HEAD`,
		`git fetch -q --depth 3 origin side; git checkout -qb re; echo mine > file; git commit -qam mine; git rebase --onto FETCH_HEAD HEAD~1 || :; test -d .git/rebase-merge`,
		`rm -rf dir; echo file > dir; rm file; mkdir -p file/x; echo y > file/x/y; echo rubbish > .git/index`,
		`echo rubbish > .git/HEAD; rm -f .git/config; ln -s /dev/null .git/config`,
		`rm -rf .git/objects`,
		`mv .git ../elsewhere; echo "gitdir: ../elsewhere" > .git`,
		`rm -rf .git; git init -q --object-format=sha256`,
		`git update-index --assume-unchanged file; echo hidden > file; git update-index --skip-worktree dir/file; echo hidden > dir/file
echo '.gitignore ident' > .git/info/attributes; echo '$Id$' > .gitignore`,
		`git replace -f HEAD $(git commit-tree -m other $(git write-tree --prefix=dir/)); rm .gitignore; chmod 000 file; chmod 555 dir`,
	} {
		b.agent(script)
		b.stage(nil)
		if got := b.agent(`cat file dir/file; cat .gitignore`); got != "3\n3\nignored" {
			t.Errorf("after %s: %s", script, got)
		}
	}
}

// A staging that fails leaves the directory as it was.
func TestFailureChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.push("app", "broken", `echo broken > file; mkdir sub; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub
printf '[submodule "sub"]\n\tpath = sub\n\turl = https://example.com/octo/missing.git\n' > .gitmodules`)
	b.stage(nil)
	b.agent(`git checkout -qb topic; echo staged > file; git add file; echo mine > file; echo new > new; git init -q nested; echo n > nested/n`)
	look := `git symbolic-ref HEAD; git rev-parse HEAD; git status --porcelain; cat file new nested/n; git show :file; git for-each-ref refs/sallyport/saved`
	want := b.agent(look)
	for name, c := range map[string]struct {
		change func(*gitmount.Document)
		code   gitmount.Code
		step   gitmount.Step
	}{
		"no such ref":    {ref("no-such"), gitmount.CodeRef, gitmount.StepFetch},
		"no such commit": {ref(strings.Repeat("1", 40)), gitmount.CodeRef, gitmount.StepFetch},
		"no such repository": {func(d *gitmount.Document) { d.Repository = "https://example.com/octo/none" },
			gitmount.CodeAuth, gitmount.StepFetch},
		"host not allowed": {func(d *gitmount.Document) { d.Repository = "https://other.example.com/octo/app" },
			gitmount.CodeUnreachable, gitmount.StepFetch},
		"no such submodule": {func(d *gitmount.Document) { d.Ref, d.Submodules = "broken", true }, gitmount.CodeAuth, gitmount.StepSubmodules},
	} {
		e := b.fails(c.change)
		if e.Code != c.code || e.Step != c.step || e.Mount != b.mount || e.Message == "" {
			t.Errorf("%s: %+v", name, e)
		}
		if got := b.agent(look); got != want {
			t.Errorf("%s: the directory was\n%s\nand is\n%s", name, want, got)
		}
	}
}

// Ledger: GB-26.
func TestDepth(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	depth := func(n int) func(*gitmount.Document) { return func(d *gitmount.Document) { d.Depth = &n } }
	count := func() string { return b.agent(`git rev-list --count HEAD; git rev-parse --is-shallow-repository`) }
	b.stage(depth(2))
	if got := count(); got != "2\ntrue" {
		t.Errorf("depth 2: %s", got)
	}
	b.stage(depth(0))
	if got := count(); got != "3\nfalse" {
		t.Errorf("depth 0: %s", got)
	}
	b.stage(depth(1))
	if got := count(); got != "3\nfalse" {
		t.Errorf("what is whole stays so: %s", got)
	}
}

// Ledger: GB-26.
func TestSubmodules(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.seed("lib")
	b.push("app", "main", `git -c protocol.file.allow=always submodule --quiet add "`+filepath.Join(b.forge, "octo/lib.git")+`" lib
git config -f .gitmodules submodule.lib.url ../lib.git`)
	with := func(d *gitmount.Document) { d.Submodules = true }
	b.stage(nil)
	if got := b.agent(`ls lib`); got != "" {
		t.Errorf("submodules are on by default: %s", got)
	}
	b.stage(with)
	if got := b.agent(`cat lib/file; git -C lib rev-list --count HEAD`); got != "3\n1" {
		t.Errorf("got %s", got)
	}
	if report := b.stage(with); len(report.Aside) > 0 {
		t.Errorf("an unchanged submodule is set aside: %+v", report)
	}
	b.agent(`echo mine > lib/file`)
	report := b.stage(with)
	if len(report.Aside) == 0 || b.sh(`cat "$1/file"`, report.Aside[0]) != "mine" {
		t.Errorf("work in a submodule is lost: %+v", report)
	}
	b.agent(`git -C lib -c user.name=A -c user.email=a@b commit -q --allow-empty -m mine`)
	if report = b.stage(nil); len(report.Aside) == 0 || b.agent(`ls lib`) != "" {
		t.Errorf("a commit in a submodule is lost: %+v", report)
	}
}

// A repository within is no file of the mount, and not to be lost either.
func TestNestedRepositories(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.stage(nil)
	b.agent(`git init -q a/b; echo x > a/b/x; git init -q 'with space'; echo y > 'with space/y'; git -C 'with space' add y; git -C 'with space' commit -qm y`)
	report := b.stage(nil)
	if len(report.Aside) != 2 || b.sh(`cat "$1/x" "$2/y"`, report.Aside[0], report.Aside[1]) != "x\ny" {
		t.Errorf("report %+v", report)
	}
	if got := b.agent(`ls -A`); got != ".git\n.gitignore\ndir\nfile" {
		t.Errorf("left: %s", got)
	}
}

// What people and tools have set for the checkout stays; what leads elsewhere
// is kept where it does nothing.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.stage(nil)
	b.agent(`git config user.name 'A "quoted" \ name # ;'; git config user.email a@example.com; git config --add sallyport.trailer 'A: b'
git config --add sallyport.trailer 'C: d'; git config 'branch.x"y\z.remote' origin; git config core.hooksPath .husky; git config alias.x '!id'; git config core.sshCommand id`)
	b.stage(nil)
	if got := b.agent(`git config --local user.name; git config --local user.email; git config --get-all sallyport.trailer; git config 'branch.x"y\z.remote'; git config core.hooksPath
git config --local --get-regexp '^(alias|core.sshcommand)' || echo none; grep -c alias .git/sallyport/config`); got != "A \"quoted\" \\ name # ;\na@example.com\nA: b\nC: d\norigin\n.husky\nnone\n1" {
		t.Errorf("got %s", got)
	}
}

func TestMissingTools(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	bin := t.TempDir()
	for _, name := range []string{"sh", "env", "id", "mkdir", "rm", "mv", "cat", "cp", "find", "cmp", "ls", "stat"} {
		program := b.sh(`command -v "$1"`, name)
		if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	b.env = append(b.env, "PATH="+bin)
	if e := b.fails(nil); e.Code != gitmount.CodeTool || !strings.Contains(e.Message, "git") {
		t.Errorf("error %v", e)
	}
}
