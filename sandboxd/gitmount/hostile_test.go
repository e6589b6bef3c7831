package gitmount_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/gitmount"
	"github.com/sallyport/sallyport/sandboxd/inside"
)

// canary returns a program that leaves a mark when it runs, and whether it has.
func canary(t *testing.T) (program string, ran func() bool) {
	t.Helper()
	dir := t.TempDir()
	program = filepath.Join(dir, "canary")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch \"$0.ran\"\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return program, func() bool {
		_, err := os.Stat(program + ".ran")
		return err == nil
	}
}

// Nothing that was left in the directory or the home runs while it is staged.
func TestNothingLeftBehindRuns(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.stage(nil)
	program, ran := canary(t)
	b.push("app", "main", `echo '* filter=x diff=x' > .gitattributes; echo 5 > file`)
	b.sh(`set -e; cd "$1"
cat > .git/config <<END
[core]
	fsmonitor = $2
	hooksPath = $3/hooks
	sshCommand = $2
	gitProxy = $2
	pager = $2
	editor = $2
	askPass = $2
	alternateRefsCommand = $2
[filter "x"]
	clean = $2
	smudge = $2
	process = $2
	required = true
[diff "x"]
	textconv = $2
	command = $2
[credential]
	helper = !$2
[remote "origin"]
	url = ext::$2
	uploadpack = $2
	vcs = canary
[url "ext::$2"]
	insteadOf = https://
[submodule]
	recurse = true
END
cp .git/config "$3/more"; printf '[include]\n\tpath = %s\n' "$3/more" >> .git/config; cp .git/config "$3/.gitconfig"; mkdir -p "$3/.config/git"; cp .git/config "$3/.config/git/config"
mkdir -p "$3/hooks"
for h in post-checkout pre-commit post-index-change reference-transaction post-merge pre-auto-gc; do cp "$2" ".git/hooks/$h"; cp "$2" "$3/hooks/$h"; done
mkdir -p .git/info; echo '* filter=x diff=x' > .git/info/attributes; echo '* filter=x diff=x' > "$3/.config/git/attributes"
echo changed > file`, b.mount, program, b.home)
	reports, err := gitmount.Stage(t.Context(), b.run, b.compile(nil), gitmount.Delivery)
	if err != nil {
		t.Fatal(err)
	}
	if ran() {
		t.Error("a program ran")
	}
	if got, err := os.ReadFile(filepath.Join(b.mount, "file")); string(got) != "5\n" || len(reports[0].Saved) != 1 {
		t.Errorf("file %q, %v, %+v", got, err, reports)
	}
}

// What a repository calls a submodule is fetched by https or not at all.
//
// Ledger: GB-26. Case: D13.
func TestHostileSubmodules(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	program, ran := canary(t)
	b.stage(nil)
	for i, c := range []struct{ name, path, url string }{
		{"ext", "sub", "ext::" + program},
		{"file URL", "sub", "file://" + b.forge + "/octo/app.git"},
		{"file path", "sub", b.forge + "/octo/app.git"},
		{"option", "sub", "-u" + program},
		{"ssh", "sub", "ssh://git@other.example.com/octo/app"},
		{"scp", "sub", "git@other.example.com:octo/app"},
		{"git", "sub", "git://other.example.com/octo/app"},
		{"fd", "sub", "fd::17"},
		{"../../hooks", "sub", "https://example.com/octo/app.git"},
	} {
		branch := "b" + string(rune('a'+i))
		b.sh(`set -e; cd "$1/work/app"; git checkout -q -B "$2" v1; mkdir -p "$4"
git update-index --add --cacheinfo "160000,$(git rev-parse v1),$4"
printf '[submodule "%s"]\n\tpath = %s\n\turl = %s\n\tupdate = !%s\n' "$3" "$4" "$5" "$6" > .gitmodules
git add .gitmodules; git commit -qm "$2"; git push -qf origin "$2"; git rm -qf --cached "$4"; rm -rf "$4"`, b.forge, branch, c.name, c.path, c.url, program)
		e := b.fails(func(d *gitmount.Document) { d.Ref, d.Submodules = branch, true })
		if e.Step != gitmount.StepSubmodules {
			t.Errorf("%s: %v", c.name, e)
		}
		if ran() {
			t.Fatalf("%s: a program ran", c.name)
		}
		if got := b.agent(`cat file; ls -A`); got != "3\n.git\n.gitignore\ndir\nfile" {
			t.Errorf("%s: left %s", c.name, got)
		}
	}
}

// Links lead no file out of the mount, and a mount isn't reached through one.
//
// Case: E17.
func TestLinksStayInside(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	outside := t.TempDir()
	keep := func(what string) {
		t.Helper()
		got, err := os.ReadFile(filepath.Join(outside, "file"))
		entries, _ := os.ReadDir(outside)
		if err != nil || string(got) != "precious" || len(entries) != 1 {
			t.Errorf("%s: outside there is %q, %d entries: %v", what, got, len(entries), err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "file"), []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.stage(nil)
	b.sh(`cd "$1"; rm -rf dir file; ln -s "$2" dir; ln -s "$2/file" file; ln -s "$2" new; mkdir ignored; ln -s "$2" ignored/link`, b.mount, outside)
	b.stage(nil)
	keep("links of an agent")
	b.push("app", "links", `rm -rf dir; ln -s "`+outside+`" dir; ln -s "`+outside+`/file" link`)
	b.stage(ref("links"))
	b.stage(nil)
	keep("links of a repository")
	b.sh(`cd "$1"; mv .git "$2.git"; ln -s "$2.git" .git`, b.mount, outside)
	b.stage(nil)
	keep("a link for .git")
	b.sh(`rm -rf "$1"; ln -s "$2" "$1"`, b.mount, outside)
	if e := b.fails(nil); e.Code != gitmount.CodePath || !strings.Contains(e.Detail, b.mount) {
		t.Errorf("a link for the mount: %v", e)
	}
	keep("a link for the mount")
	b.sh(`rm "$1"; echo x > "$1"`, b.mount)
	if e := b.fails(nil); e.Code != gitmount.CodePath {
		t.Errorf("a file for the mount: %v", e)
	}
}

// Ledger: GB-24.
func TestWorkdirThroughLinks(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.push("app", "main", `ln -s /etc out; ln -s dir in`)
	b.stage(nil)
	mounts := b.compile(nil)
	for asked, ok := range map[string]bool{"": true, "dir": true, "in": true, "out": false, "out/ssl": false, "none": false, "file": false, "/etc": true, "/none": false} {
		if err := gitmount.CheckWorkdir(t.Context(), b.run, mounts, asked); (err == nil) != ok {
			t.Errorf("%q: error %v", asked, err)
		}
	}
}

// Case: D30.
func TestServersWordsArePrintable(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	mounts := b.compile(nil)
	run := b.run
	_, err := gitmount.Stage(t.Context(), func(ctx context.Context, c inside.Command) (inside.Result, error) {
		for _, arg := range c.Argv {
			if arg == "fetch" {
				return inside.Result{Code: 128, Stderr: "remote: \x1b]52;c;YQ==\x07\nfatal: \x1b[2Jno\n"}, nil
			}
		}
		return run(ctx, c)
	}, mounts, gitmount.Start)
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\x07\n") {
		t.Errorf("error %q", err)
	}
}
