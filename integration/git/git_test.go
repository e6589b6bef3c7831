// Package git_test shows git at work in sandboxes that hold no credential: the
// real git against git's own HTTP server, behind the edge, with tokens of a
// GitHub App.
package git_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/broker/github/githubtest"
)

// programs builds the programs once and returns their directory.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sallyport-git")
	if err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"generate", "../../sandboxd/..."},
		{"build", "-o", dir, "../../cmd/sallyport", "../../cmd/edge", "../../cmd/git-credential-sallyport", "../../sandboxd/provider/runs/sbinit"},
	} {
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("go %v: %w\n%s", args, err, out)
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := programs(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// result is how a command in a sandbox ended.
type result struct {
	code           int
	stdout, stderr string
}

// sandbox returns a command that runs script in a sandbox of f.
func (f *forge) sandbox(t *testing.T, grants []string, argv ...string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make sandboxes")
	}
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	base, err := os.MkdirTemp("", "git")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	args := append([]string{"run", "--audit", filepath.Join(base, "audit.jsonl"), "--timeout", "5m"}, f.flags...)
	for _, g := range grants {
		args = append(args, "--git", g)
	}
	cmd := exec.Command(filepath.Join(dir, "sallyport"), append(append(args, "--"), argv...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+base)
	return cmd
}

// run runs argv in a sandbox with the given grants.
func (f *forge) run(t *testing.T, grants []string, stdin string, argv ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := f.sandbox(t, grants, argv...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// each runs a test with each of the two things that a sandbox may hold.
func each(t *testing.T, change func(*githubtest.Config), test func(t *testing.T, f *forge)) {
	t.Helper()
	for _, auth := range []string{"token", "edge"} {
		t.Run(auth, func(t *testing.T) {
			t.Parallel()
			f := newForge(t, change)
			f.auth = auth
			f.flags = append(f.flags, "--git-auth", auth)
			test(t, f)
			if alive := f.api.Alive(); len(alive) > 0 {
				t.Errorf("%d tokens outlive the sandbox", len(alive))
			}
		})
	}
}

// prelude makes steps of a script tell by name how they ended.
const prelude = `cd /workspace
git config --global user.name Sand; git config --global user.email sand@example.com
git config --global init.defaultBranch main
url=https://example.com/octo
step() { name=$1; shift; if "$@" >"/tmp/out" 2>&1; then echo "ok $name"; else echo "failed $name: $(tr '\n' ' ' </tmp/out | cut -c1-400)"; fi; }
`

// expect runs a script and checks how each of its steps ended.
func (f *forge) expect(t *testing.T, grants []string, script string, want ...string) string {
	t.Helper()
	got := f.run(t, grants, "", "bash", "-c", prelude+script)
	for _, line := range want {
		if !strings.Contains(got.stdout, line+"\n") && (!strings.HasPrefix(line, "failed") || !strings.Contains(got.stdout, line)) {
			t.Errorf("no line %q in\n%s%s", line, got.stdout, got.stderr)
		}
	}
	return got.stdout
}

// Ledger: GB-1, GB-2, GB-5, GB-32.
func TestGitWorks(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, f *forge) {
		out := f.expect(t, []string{"octo/app", "octo/site:write"}, `
step clone git clone $url/app.git
step fetch git -C app fetch
step without-suffix git ls-remote $url/app HEAD
step letter-case git ls-remote https://EXAMPLE.com/Octo/App.git HEAD
step shallow git clone --depth 1 $url/app.git shallow
step depth test "$(git -C shallow rev-list --count HEAD)" = 1
step unshallow git -C shallow fetch --unshallow
step partial git clone --filter=blob:none --no-checkout $url/app.git partial
step checkout git -C partial checkout main
step tags git -C app fetch --tags
step tag git -C app rev-parse v1
cd app; echo change > file; git commit -qam change; step push-to-read git push origin HEAD; cd ..
step clone-site git clone $url/site.git
cd site; echo change > file; git commit -qam "from the sandbox"; git tag v2
step push git push origin HEAD:main v2
step push-branch git push origin HEAD:refs/heads/agent/work
step submodule git submodule add ../app.git sub
git commit -qam submodule; step push-submodule git push origin HEAD:main; cd ..
step recursive git clone --recurse-submodules $url/site.git again
step submodule-file test -f again/sub/file
step ungranted git ls-remote $url/secret.git
step escaped git ls-remote https://example.com/octo%2Fapp%2F..%2Fsecret.git
printf 'protocol=https\nhost=example.com\npath=octo/site.git\n\n' | /opt/sallyport/git-credential-sallyport get; env
step no-token sh -c '! grep -rIlE "ghs_[0-9]{10}" /workspace /home/user /tmp /etc 2>/dev/null'
`,
			"ok clone", "ok fetch", "ok without-suffix", "ok letter-case", "ok shallow", "ok depth", "ok unshallow",
			"ok partial", "ok checkout", "ok tags", "ok tag", "failed push-to-read", "ok clone-site", "ok push", "ok push-branch",
			"ok submodule", "ok push-submodule", "ok recursive", "ok submodule-file", "failed ungranted: sallyport: example.com/octo/secret.git: This sandbox is not granted this repository.",
			"failed escaped", "ok no-token")
		if log := f.log(t, "octo/site", "main"); !strings.HasPrefix(log, "submodule\nfrom the sandbox\n") {
			t.Errorf("the forge has\n%s", log)
		}
		if log := f.log(t, "octo/site", "agent/work"); !strings.HasPrefix(log, "from the sandbox\n") {
			t.Errorf("the branch has\n%s", log)
		}
		if log := f.log(t, "octo/app", "main"); strings.Contains(log, "change") {
			t.Error("a grant to read has pushed")
		}
		if n := len(f.api.Mints()); n != 3 {
			t.Errorf("%d mints, want one to read each repository and one to write", n)
		}
		if f.auth == "edge" && strings.Contains(out, "ghs_0") {
			t.Error("a token entered the sandbox")
		}
	})
}

func TestLFS(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, f *forge) {
		f.expect(t, []string{"octo/site:write"}, `
git lfs install >/dev/null
step clone git clone $url/site.git
cd site; git lfs track '*.bin' >/dev/null; head -c 300000 /dev/urandom > a.bin; sha256sum a.bin > /tmp/sum
git add -A; git commit -qm lfs; step push git push origin HEAD:main; cd ..
step again git clone $url/site.git again
cd again; step content sha256sum -c /tmp/sum`,
			"ok clone", "ok push", "ok again", "ok content")
		if len(f.objects) != 1 {
			t.Errorf("%d objects on the forge, want 1", len(f.objects))
		}
	})
}

// Case: D14.
func TestRenamedRepository(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, f *forge) {
		f.expect(t, []string{"octo/old-name"}, `
step clone git clone $url/old-name.git
step fetch git -C old-name fetch
step other git ls-remote $url/secret.git`, "ok clone", "ok fetch", "failed other")
		for _, m := range f.api.Mints() {
			if len(m.RepositoryIDs) != 1 || m.RepositoryIDs[0] != 3 {
				t.Errorf("minted for %+v, want the repository by its id", m)
			}
		}
	})
}

func TestLargePack(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, f *forge) {
		f.expect(t, []string{"octo/site:write"}, `
step clone git clone $url/site.git
cd site; head -c 104857600 /dev/urandom > large; git config core.compression 0
git add large; git commit -qm large; step push git push origin HEAD:main; cd ..
step again git clone $url/site.git again
step same cmp site/large again/large`, "ok clone", "ok push", "ok again", "ok same")
	})
}

// A token that the forge ends is replaced before git gets to see it.
func TestTokenExpires(t *testing.T) {
	t.Parallel()
	each(t, func(c *githubtest.Config) { c.TokenLife = 33 * time.Second }, func(t *testing.T, f *forge) {
		f.expect(t, []string{"octo/app"}, `
step clone git clone $url/app.git
for i in $(seq 40); do sleep 0.2; git -C app fetch || echo "failed at $i"; done
step end git -C app fetch`, "ok clone", "ok end")
		if n := len(f.api.Mints()); n < 2 {
			t.Errorf("%d mints, want several", n)
		}
	})
}

// Two repositories of one owner never get each other's token, and a token that
// was carried out is worth nothing once the sandbox has ended.
func TestTokensAreApart(t *testing.T) {
	t.Parallel()
	f := newForge(t, nil)
	got := f.run(t, []string{"octo/app", "octo/site:write"}, "", "bash", "-c", `
ask() { printf 'protocol=https\nhost=example.com\npath=octo/%s\n\n' "$1" | /opt/sallyport/git-credential-sallyport get | sed -n 's/^password=//p'; }
a=$(ask app.git); b=$(ask site.git)
try() { curl -s -o /tmp/answer -w '%{http_code}' -u "x-access-token:$1" "https://example.com/octo/$2.git/info/refs?service=git-$3-pack"; grep -qa 'ERR Sallyport' /tmp/answer && printf -- -told; printf ' '; }
try $a app upload; try $a app receive; try $a site upload; try $b site receive; try $b app upload; try $b secret upload
echo; echo "$a $b"`)
	codes, tokens, _ := strings.Cut(got.stdout, "\n")
	if strings.TrimSpace(codes) != "200 200-told 401 200 401 401" {
		t.Errorf("answers %q\n%s", codes, got.stderr)
	}
	both := strings.Fields(tokens)
	if len(both) != 2 || both[0] == both[1] {
		t.Fatalf("tokens %q", tokens)
	}
	for _, token := range both {
		for _, repository := range []string{"octo/app", "octo/site"} {
			if allowed := f.api.Allows(token, repository); allowed != "" {
				t.Errorf("after the sandbox has ended its token may still %q %s", allowed, repository)
			}
		}
	}
}

// Ledger: GB-14, GB-15: the socket answers for the sandbox that it is in, and
// can't be had from anywhere else.
func TestSocketIsTheSandboxsOwn(t *testing.T) {
	t.Parallel()
	f := newForge(t, nil)
	cmd := f.sandbox(t, []string{"octo/app"}, "bash", "-c", prelude+"step first git ls-remote $url/app.git; read line; step second git ls-remote $url/app.git")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("unix", "@sallyport/broker"); err == nil {
		conn.Close()
		t.Error("the broker of a sandbox answers outside it")
	}
	// A sandbox beside it, with a copy of the helper, asks its own broker.
	question := "protocol=https\nhost=example.com\npath=octo/app.git\n\n"
	got := f.run(t, []string{"octo/site"}, question, "/opt/sallyport/git-credential-sallyport", "get")
	if got.code != 0 || got.stdout != "quit=1\n" || !strings.Contains(got.stderr, "repository_not_granted") {
		t.Errorf("another sandbox: %+v", got)
	}
	fmt.Fprintln(stdin)
	if err := cmd.Wait(); err != nil || strings.Count(out.String(), "ok") != 2 {
		t.Errorf("%v: %s", err, out.String())
	}
	if alive := f.api.Alive(); len(alive) > 0 {
		t.Errorf("%d tokens outlive their sandboxes", len(alive))
	}
}

// Case: D13: a remote for SSH becomes one that the broker serves, where the host
// is granted, and fails at once elsewhere.
func TestRemotesForSSH(t *testing.T) {
	t.Parallel()
	f := newForge(t, nil)
	f.flags = append(f.flags, "--git-auth", "edge")
	f.expect(t, []string{"octo/app"}, `
step scp git ls-remote git@example.com:octo/app.git HEAD
step ssh git ls-remote ssh://git@example.com/octo/app HEAD
step own git ls-remote git://example.com/octo/app.git HEAD
step ungranted git ls-remote git@example.com:octo/secret.git HEAD
step elsewhere timeout 10 git ls-remote git://www.example.net/octo/app.git HEAD`,
		"ok scp", "ok ssh", "ok own", "failed ungranted", "failed elsewhere: fatal:")
}

// Ledger: GB-3.
func TestHelperIsConfiguredForTheHostAlone(t *testing.T) {
	t.Parallel()
	f := newForge(t, nil)
	got := f.run(t, []string{"octo/app"}, "", "git", "config", "--list")
	for _, want := range []string{
		"credential.https://example.com.helper=/opt/sallyport/git-credential-sallyport\n",
		"credential.https://example.com.usehttppath=true\n",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
	if strings.Contains(got.stdout, "\ncredential.helper=") {
		t.Errorf("a helper for every host:\n%s", got.stdout)
	}
}
