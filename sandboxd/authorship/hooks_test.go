package authorship_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/authorship"
	"github.com/sallyport/sallyport/sandboxd/inside"
)

const (
	co        = "Co-Authored-By: Agent <agent@example.com>"
	requested = `Requested-by: O'Neil \n "Q" $(id)`
)

// shells are what stands behind #!/bin/sh of one image or another.
var shells = map[string][]string{"dash": {"dash"}, "busybox": {"busybox", "sh"}, "bash": {"bash", "--posix"}}

// repository is a checkout on this machine with the hooks, under one shell.
type repository struct {
	dir string
	env []string
}

// newRepository puts the hooks where a test may write; their directory is all
// that differs from a sandbox's.
func newRepository(t *testing.T, shell []string) *repository {
	t.Helper()
	program, err := exec.LookPath(shell[0])
	if err != nil {
		t.Fatalf("no %s: %v", shell[0], err)
	}
	hooks := t.TempDir()
	for name, text := range authorship.Files() {
		first := "#!" + program + " " + strings.Join(shell[1:], " ")
		text = append([]byte(strings.TrimSpace(first)+"\n"), bytes.TrimPrefix(text, []byte("#!/bin/sh\n"))...)
		if err := os.WriteFile(filepath.Join(hooks, filepath.Base(name)), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := &repository{dir: t.TempDir(), env: append(os.Environ(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true", "LC_ALL=C",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0="+hooks)}
	r.git(t, "init", "-qb", "main")
	id := authorship.Identity{Author: ada, Committer: agent, Trailers: []string{co, requested}}
	if err := authorship.Apply(t.Context(), r.run, r.dir, id); err != nil {
		t.Fatal(err)
	}
	if got := r.git(t, "config", "--local", "core.hooksPath"); got != authorship.HooksPath {
		t.Fatalf("core.hooksPath is %q", got)
	}
	r.git(t, "config", "core.hooksPath", hooks)
	return r
}

func (r *repository) run(ctx context.Context, c inside.Command) (inside.Result, error) {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	var out, errs inside.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, append(slices.Clone(r.env), c.Env...), strings.NewReader(c.Stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return inside.Result{}, err
	}
	return inside.Result{Code: cmd.ProcessState.ExitCode(), Stdout: out.String(), Stderr: errs.String()}, nil
}

func (r *repository) try(t *testing.T, args ...string) inside.Result {
	t.Helper()
	result, err := r.run(t.Context(), inside.Command{Dir: r.dir, Argv: append([]string{"git"}, args...)})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (r *repository) git(t *testing.T, args ...string) string {
	t.Helper()
	result := r.try(t, args...)
	if result.Code != 0 {
		t.Fatalf("git %q: %s%s", args, result.Stdout, result.Stderr)
	}
	return strings.TrimSpace(result.Stdout)
}

func (r *repository) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// stamped checks that a commit ends in both trailers, each of which is there
// once.
func (r *repository) stamped(t *testing.T, what, revision string) {
	t.Helper()
	message := r.git(t, "log", "-1", "--format=%B", revision)
	trailers := r.git(t, "log", "-1", "--format=%(trailers:only=true)", revision)
	for _, trailer := range []string{co, requested} {
		if strings.Count("\n"+message, "\n"+trailer) != 1 || strings.Count(trailers, trailer) != 1 {
			t.Errorf("%s: message\n%s\nhas trailers\n%s", what, message, trailers)
		}
	}
}

// The hooks work in every shell that an image may have; the other tests take
// Debian's.
//
// Ledger: GB-29, GB-31.
func TestShells(t *testing.T) {
	t.Parallel()
	for name, shell := range shells {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t, shell)
			r.write(t, ".git/hooks/commit-msg", "#!/bin/sh\ngrep -q subject \"$1\"\n", 0o755)
			r.git(t, "commit", "-q", "--allow-empty", "-m", "subject", "-m", co, "-m", `a back\slash -n and  two spaces`)
			r.stamped(t, "commit", "HEAD")
			if got := r.git(t, "log", "-1", "--format=%B"); !strings.Contains(got, `a back\slash -n and  two spaces`) {
				t.Errorf("the message is changed: %s", got)
			}
			if got := r.try(t, "commit", "--allow-empty", "-m", "bad"); got.Code == 0 {
				t.Error("the repository's own hook doesn't count")
			}
			if got := r.try(t, "commit", "--allow-empty"); got.Code == 0 {
				t.Error("a commit of nothing")
			}
		})
	}
}

// Ledger: GB-27, GB-28.
func TestAuthorAndCommitter(t *testing.T) {
	t.Parallel()
	r := newRepository(t, shells["dash"])
	show := func() string { return r.git(t, "log", "-1", "--format=%an %ae %cn %ce") }
	r.git(t, "commit", "--allow-empty", "-qm", "one")
	if got := show(); got != "Ada ada@example.com Agent agent@example.com" {
		t.Error(got)
	}
	if got := r.git(t, "config", "--local", "user.name") + r.git(t, "config", "--local", "user.email"); got != "Agentagent@example.com" {
		t.Error(got)
	}
	if err := authorship.Apply(t.Context(), r.run, r.dir, authorship.Resolve(agent, nil, nil)); err != nil {
		t.Fatal(err)
	}
	r.git(t, "commit", "--allow-empty", "-qm", "two")
	if got := show() + r.git(t, "log", "-1", "--format=%B"); got != "Agent agent@example.com Agent agent@example.comtwo" {
		t.Errorf("after another requester: %s", got)
	}
	if err := authorship.Apply(t.Context(), r.run, r.dir, authorship.Identity{}); err != nil {
		t.Fatal(err)
	}
	if got := r.try(t, "config", "--local", "--get-regexp", `^(user|author|committer|sallyport)\.`); got.Stdout != "" {
		t.Errorf("left behind: %s", got.Stdout)
	}
}

// Ledger: GB-29.
func TestTrailersOnce(t *testing.T) {
	t.Parallel()
	r := newRepository(t, shells["dash"])
	commit := func(what string, args ...string) {
		r.git(t, append([]string{"commit", "--allow-empty", "-q"}, args...)...)
		r.stamped(t, what, "HEAD")
	}
	commit("-m", "-m", "subject")
	commit("amend", "--amend", "--no-edit")
	commit("amend with another message", "--amend", "-m", "other")
	commit("two paragraphs", "-m", "subject", "-m", "body: not a trailer\nmore of it")
	commit("own trailers", "-m", "subject", "-m", "Fixes: 12\nSigned-off-by: Ada <ada@example.com>")
	commit("divider", "-m", "subject", "-m", "before\n---\nafter")
	commit("trailer in the middle", "-m", "subject", "-m", co, "-m", "body")
	commit("no-verify", "--no-verify", "-m", "subject")
	commit("signoff", "-s", "-m", "subject")
	commit("reuse", "-C", "HEAD~1")
	commit("scissors", "--cleanup=scissors", "-m", "subject")
	commit("no line end", "--cleanup=verbatim", "-m", "subject")
	r.write(t, "message", "from a file\r\n\r\nwith\r\nline ends\r\n", 0o644)
	commit("-F", "-F", "message")
}

// Ledger: GB-29.
func TestTrailersOnceThroughHistory(t *testing.T) {
	t.Parallel()
	r := newRepository(t, shells["dash"])
	add := func(name string) {
		r.write(t, name, name, 0o644)
		r.git(t, "add", name)
		r.git(t, "commit", "-qm", "add "+name)
	}
	add("base")
	r.git(t, "checkout", "-qb", "side")
	add("a")
	add("b")
	r.git(t, "checkout", "-qb", "other", "main")
	add("d")
	add("e")
	r.git(t, "checkout", "-q", "main")
	add("c")
	r.git(t, "merge", "-q", "--no-ff", "side")
	r.stamped(t, "merge", "HEAD")
	r.git(t, "revert", "--no-edit", "-m", "1", "HEAD")
	r.stamped(t, "revert", "HEAD")
	r.git(t, "checkout", "-q", "side")
	r.git(t, "rebase", "-q", "main~2")
	r.stamped(t, "rebase", "HEAD")
	r.git(t, "cherry-pick", "other~1")
	r.stamped(t, "cherry-pick", "HEAD")
	r.env = append(r.env, "GIT_SEQUENCE_EDITOR=sed -i '2,$s/^pick/squash/'")
	r.git(t, "rebase", "-qi", "HEAD~3")
	r.stamped(t, "squash", "HEAD")
	r.git(t, "merge", "-q", "--squash", "other")
	r.git(t, "commit", "-q", "--no-edit")
	r.stamped(t, "merge --squash", "HEAD")
}

// A message that was given up stays without trailers, so git gives up too.
func TestEmptyMessageStaysEmpty(t *testing.T) {
	t.Parallel()
	r := newRepository(t, shells["dash"])
	r.write(t, "template", "describe it\n", 0o644)
	r.write(t, "file", "x\n", 0o644)
	r.git(t, "add", "file")
	for _, args := range [][]string{{"commit"}, {"commit", "-v"}, {"commit", "-v", "-t", "template"}} {
		if got := r.try(t, args...); got.Code == 0 {
			t.Errorf("%q made a commit of nothing", args)
		}
	}
	r.env = append(r.env, `GIT_EDITOR=sh -c 'echo written > "$1"' -`)
	for _, args := range [][]string{{"commit", "-v"}, {"commit", "--allow-empty", "-t", "template"}} {
		r.git(t, append(args, "-q")...)
		r.stamped(t, strings.Join(args, " "), "HEAD")
	}
}

// Ledger: GB-31.
func TestRepositorysOwnHooksRun(t *testing.T) {
	t.Parallel()
	r := newRepository(t, shells["dash"])
	const say = "#!/bin/sh\necho $0 $# >> ran\n"
	r.write(t, ".git/hooks/pre-commit", say, 0o755)
	r.write(t, ".git/hooks/post-commit", say, 0o755)
	r.write(t, ".git/hooks/prepare-commit-msg", say+"echo from the hook >> \"$1\"\n", 0o755)
	r.write(t, ".git/hooks/post-checkout", say, 0o644) // not executable
	r.git(t, "commit", "-q", "--allow-empty", "-m", "one")
	r.stamped(t, ".git/hooks", "HEAD")
	if got := r.git(t, "log", "-1", "--format=%B"); !strings.Contains(got, "from the hook") {
		t.Errorf("the hook's words are lost: %s", got)
	}
	ran, err := os.ReadFile(filepath.Join(r.dir, "ran"))
	if err != nil || strings.Count(string(ran), "\n") != 3 {
		t.Errorf("ran %q: %v", ran, err)
	}
	// A tool such as husky sets a path of its own, which is relative.
	r.write(t, ".husky/commit-msg", "#!/bin/sh\ngrep -q good \"$1\"\n", 0o755)
	r.git(t, "config", "core.hooksPath", ".husky")
	if got := r.try(t, "commit", "--allow-empty", "-m", "bad"); got.Code == 0 {
		t.Error("a refusal of the repository's own hook is lost")
	}
	r.git(t, "commit", "--allow-empty", "-qm", "good")
	r.stamped(t, "core.hooksPath", "HEAD")
	if again, err := os.ReadFile(filepath.Join(r.dir, "ran")); err != nil || string(again) != string(ran) {
		t.Errorf("hooks that are not in force ran: %q: %v", again, err)
	}
	// What a hook reads is what git says.
	r.write(t, ".husky/pre-push", "#!/bin/sh\ncat > pushed; echo \"$@\" >> pushed\n", 0o755)
	r.git(t, "init", "-q", "--bare", "other.git")
	r.git(t, "push", "-q", "./other.git", "main")
	pushed, err := os.ReadFile(filepath.Join(r.dir, "pushed"))
	if err != nil || !strings.Contains(string(pushed), "refs/heads/main "+r.git(t, "rev-parse", "HEAD")) || !strings.Contains(string(pushed), "./other.git ./other.git\n") {
		t.Errorf("pre-push got %q: %v", pushed, err)
	}
	// Another requester doesn't take the tool's path away.
	if err := authorship.Apply(t.Context(), r.run, r.dir, authorship.Identity{}); err != nil {
		t.Fatal(err)
	}
	if got := r.git(t, "config", "--local", "core.hooksPath"); got != ".husky" {
		t.Errorf("core.hooksPath is %q", got)
	}
}

// Linked worktrees and submodules keep their hooks in the common directory.
//
// Ledger: GB-31.
func TestHooksOfWorktree(t *testing.T) {
	t.Parallel()
	r := newRepository(t, shells["dash"])
	r.write(t, ".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n", 0o755)
	r.git(t, "commit", "-q", "--no-verify", "--allow-empty", "-m", "one")
	r.git(t, "worktree", "add", "-q", "tree")
	if got := r.try(t, "-C", "tree", "commit", "--allow-empty", "-m", "two"); got.Code == 0 {
		t.Error("the hook doesn't run in a worktree")
	}
	r.git(t, "-C", "tree", "commit", "-q", "--no-verify", "--allow-empty", "-m", "two")
	r.stamped(t, "worktree", "refs/heads/tree")
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	never := func(context.Context, inside.Command) (inside.Result, error) {
		t.Error("a command was run")
		return inside.Result{}, nil
	}
	for _, id := range []authorship.Identity{
		{Author: authorship.Person{Name: "A\nB", Email: "a@b"}},
		{Committer: authorship.Person{Name: "A"}},
		{Trailers: []string{"no value"}},
		{Trailers: []string{"A: b\nC: d"}},
	} {
		if err := authorship.Apply(t.Context(), never, "/", id); err == nil {
			t.Errorf("%+v was applied", id)
		}
	}
	fails := func(context.Context, inside.Command) (inside.Result, error) {
		return inside.Result{Code: 128, Stderr: "fatal: \x1b[1mno\n"}, nil
	}
	err := authorship.Apply(t.Context(), fails, "/w", authorship.Identity{Author: ada, Committer: agent})
	if err == nil || !strings.Contains(err.Error(), "/w") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("error %v", err)
	}
}
