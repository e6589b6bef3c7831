package git_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What a grant says about pushes holds in both modes, and git prints why.
func TestPushRules(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, f *forge) {
		f.flags = append(f.flags, "--push", "refs/heads/agent/*,max=3MiB")
		f.expect(t, []string{"octo/site:write", "octo/app"}, `
git clone -q $url/site.git; cd site
git checkout -q -b agent/a; echo 1 > file; git commit -qam one; step create git push origin agent/a
for i in $(seq 30); do echo $i > file; git commit -qam "commit $i"; done; step forward git push origin agent/a
git commit -q --amend -m amended; step rewind git push -f origin agent/a
git reset -q --hard origin/agent/a
step main git push origin HEAD:main
step atomic git push --atomic origin HEAD:refs/heads/agent/b HEAD:main
step both git push origin HEAD:refs/heads/agent/c HEAD:main
step delete git push origin :agent/a
git tag v9; step tag git push origin v9
head -c 4000000 /dev/urandom > large; git add large; git commit -qm large; step large git push origin agent/a
step options git push -o ci.skip origin HEAD~1:refs/heads/agent/d
cd ..; git clone -q $url/app.git; cd app; echo x > file; git commit -qam x; step read-only git push origin HEAD:refs/heads/agent/x
git remote set-url origin $url/secret.git; step ungranted git push origin HEAD:refs/heads/agent/x
step merge curl -sf -X PUT -H "Authorization: Bearer $GIT_TOKEN" https://example.com/api/v3/repos/octo/site/contents`,
			"ok create", "ok forward", "failed rewind", "failed main", "failed atomic", "failed both", "failed delete", "failed tag",
			"failed large", "failed read-only", "failed ungranted", "failed merge")
		refs, err := exec.Command("git", "-c", "safe.directory=*", "-C", filepath.Join(f.root, "octo/site.git"), "for-each-ref", "--format=%(refname) %(subject)").CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(refs); !strings.HasPrefix(got, "refs/heads/agent/a commit 30\n") || strings.Contains(got, "agent/b") || strings.Contains(got, "agent/c") || !strings.Contains(got, "refs/heads/main commit 3\n") || strings.Contains(got, "v9") {
			t.Errorf("the forge has\n%s", got)
		}
	})
}

// git itself says what the edge says.
func TestGitPrintsTheReason(t *testing.T) {
	t.Parallel()
	f := newForge(t, nil)
	f.flags = append(f.flags, "--git-auth", "edge", "--push", "refs/heads/agent/*")
	out := f.expect(t, []string{"octo/site:write", "octo/app"}, `
git clone -q $url/site.git; cd site; echo 1 > file; git commit -qam one
git push origin HEAD:main 2>&1; git push origin HEAD:refs/heads/agent/a 2>&1; git commit -q --amend -m two; git push -f origin HEAD:refs/heads/agent/a 2>&1
git push $url/app.git HEAD:refs/heads/agent/a 2>&1; git push $url/secret.git HEAD 2>&1`)
	for _, want := range []string{
		"remote: sallyport: the push was refused because of another ref",
		"! [remote rejected] HEAD -> main (this sandbox may not push to this ref)",
		"! [remote rejected] HEAD -> agent/a (not shown to be a fast-forward, and this sandbox may not force)",
		"fatal: remote error: Sallyport: this sandbox may only read octo/app",
		"fatal: remote error: Sallyport: This sandbox is not granted this repository.",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// Ledger: GB-13: the placeholder serves the REST API of what is granted. One
// that was carried to another sandbox is worth nothing there, while its own
// lives and afterwards.
func TestPlaceholder(t *testing.T) {
	t.Parallel()
	f := newForge(t, nil)
	f.flags = append(f.flags, "--git-auth", "edge", "--git-token-env", "GH_TOKEN")
	const ask = `ask() { printf '%s ' "$1"; curl -s -H "Authorization: token $GH_TOKEN" https://example.com/api/v3/$1 | head -c 60 | tr '\n' ' '; echo; }
ask repos/octo/app; ask repos/octo/site; ask user; ask repos/octo/app/../secret; ask graphql
printf 'placeholder %s\n' $GH_TOKEN`
	got := f.run(t, []string{"octo/app"}, "", "bash", "-c", ask)
	for _, want := range []string{"repos/octo/app access \"read\"\n", "repos/octo/site {\"error\"", "user {\"error\"", "graphql {\"error\"", "placeholder ghs_Sallyport"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s%s", want, got.stdout, got.stderr)
		}
	}
	_, placeholder, _ := strings.Cut(strings.TrimSpace(got.stdout), "placeholder ")
	f.expect(t, []string{"octo/app"}, prelude+`stolen=`+placeholder+`
use() { test "$(curl -s -o /dev/null -w '%{http_code}' -u "x:$1" "$url/app.git/info/refs?service=git-upload-pack")" = 200; }
step own use $GH_TOKEN
step stolen use $stolen`, "ok own", "failed stolen")
	if alive := f.api.Alive(); len(alive) > 0 {
		t.Errorf("%d tokens outlive their sandboxes", len(alive))
	}
}
