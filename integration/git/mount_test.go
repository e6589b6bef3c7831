package git_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/sandboxd/authorship"
	"github.com/sallyport/sallyport/sandboxd/gitmount"
	"github.com/sallyport/sallyport/sandboxd/inside"
)

// mounts compiles mounts of the forge.
func (f *forge) mounts(t *testing.T, documents ...gitmount.Document) []gitmount.Mount {
	t.Helper()
	for i := range documents {
		d := &documents[i]
		d.Kind, d.Repository = "git", "https://"+host+"/"+d.Repository
		if d.Auth == nil {
			d.Auth = &gitmount.Auth{Issuer: "github"}
		}
	}
	mounts, err := gitmount.Compile(documents, map[string]any{"branch": "main"})
	if err != nil {
		t.Fatal(err)
	}
	return mounts
}

// grants are those of a project that holds every repository of the forge.
func grants(t *testing.T, mounts []gitmount.Mount) []broker.Grant {
	t.Helper()
	var project []broker.Grant
	for _, name := range []string{"octo/app", "octo/site"} {
		project = append(project, broker.Grant{Repository: name, Host: host, Access: broker.Write, Issuer: "github"})
	}
	got, err := gitmount.Authorise(mounts, project)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// What a session start does, and what the agent then finds.
//
// Ledger: GB-9, GB-17, GB-18, GB-19, GB-22, GB-25, GB-27, GB-28, GB-29. Case: E35.
func TestMountsOfASession(t *testing.T) {
	t.Parallel()
	f := newForge(t, nil)
	mounts := f.mounts(t,
		gitmount.Document{Repository: "octo/site", Ref: "{{payload.branch}}", MountPath: "/workspace/site", Auth: &gitmount.Auth{Issuer: "github", Access: broker.Write}},
		gitmount.Document{Repository: "octo/app", Ref: "v1", MountPath: "/srv/deep/app"}, // where only root may write
	)
	s := f.session(t, grants(t, mounts))
	stage := func(cause gitmount.Cause) []gitmount.Report {
		t.Helper()
		reports, err := gitmount.Stage(t.Context(), s.run, mounts, cause)
		if err != nil {
			t.Fatal(err)
		}
		return reports
	}
	stage(gitmount.Start)
	if err := gitmount.Verify(t.Context(), s.run, mounts); err != nil {
		t.Fatal(err)
	}
	ada := authorship.Person{Name: "Ada", Email: "ada@example.com"}
	id := authorship.Resolve(authorship.Person{Name: "Agent", Email: "agent@example.com"},
		&authorship.Requester{ID: "u1", Source: authorship.SourcePlatform}, authorship.Directory{"u1": {Person: ada, Verified: true}})
	if err := authorship.Apply(t.Context(), s.run, mounts[0].Path, id); err != nil {
		t.Fatal(err)
	}
	if got := s.sh(t, `cat /workspace/site/file /srv/deep/app/file; id -un; stat -c %U /workspace/site /srv/deep/app; git config --get-all safe.directory; git -C /srv/deep/app status --short`); got != "site 3\napp 3\nuser\nuser\nuser" {
		t.Errorf("got %s", got)
	}
	s.sh(t, `cd /workspace/site; echo work > file; git commit -qam work; git push -q origin HEAD:refs/heads/agent/one
echo half > half; echo kept > /home/user/kept`)
	if got := s.sh(t, `cd /workspace/site; git log -1 --format='%an %cn %(trailers:only=true)'`); got != "Ada Agent Co-Authored-By: Agent <agent@example.com>" {
		t.Errorf("the commit is %s", got)
	}
	if log := f.log(t, "octo/site", "agent/one"); !strings.HasPrefix(log, "work\n") {
		t.Errorf("the forge has %s", log)
	}
	// An idle stop and the command that ends it, then something new to do.
	stage(gitmount.Resume)
	if got := s.sh(t, `cat /workspace/site/file /workspace/site/half`); got != "work\nhalf" {
		t.Errorf("after a resume: %s", got)
	}
	report := stage(gitmount.Delivery)[0]
	if got := s.sh(t, `cd /workspace/site; git status --short; cat file; cat /home/user/kept; git show `+report.Saved[0].Ref+`:half`); got != "site 3\nkept\nhalf" {
		t.Errorf("after a delivery: %s", got)
	}
}

// Ledger: GB-21, GB-2: nobody in the sandbox, its root included, finds the token
// of a staging in an argument, a variable or a file, nor does the audit.
func TestStagingShowsNoToken(t *testing.T) {
	t.Parallel()
	f := newForge(t, nil)
	mounts := f.mounts(t, gitmount.Document{Repository: "octo/app", MountPath: "/workspace/app"})
	s := f.session(t, grants(t, mounts))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const control = "ghs_thatTheWatcherMustSee" // in a variable of its own
	watched := make(chan inside.Result, 1)
	go func() {
		got, _ := s.run(ctx, inside.Command{Root: true, Dir: "/", Env: []string{"CONTROL=" + control}, Argv: []string{"sh", "-c", `n=0
while [ ! -e /tmp/end ]; do n=$((n + 1)); cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -o 'ghs_[0-9A-Za-z]\{10,\}'; done
echo "looked $n"; grep -rIl 'ghs_[0-9A-Za-z]\{10\}' /workspace /home /tmp /etc /root /var /run /opt 2>/dev/null; :`}})
		watched <- got
	}()
	if _, err := gitmount.Stage(t.Context(), s.run, mounts, gitmount.Start); err != nil {
		t.Fatal(err)
	}
	s.sh(t, `touch /tmp/end`)
	got := <-watched
	if n := len(f.api.Mints()); n == 0 {
		t.Error("nothing was minted: this proves nothing")
	}
	if seen := strings.ReplaceAll(got.Stdout, control+"\n", ""); !strings.HasPrefix(seen, "looked ") || strings.Count(seen, "\n") != 1 || seen == got.Stdout {
		t.Errorf("seen: %s%s", got.Stdout, got.Stderr)
	}
	audit, err := os.ReadFile(s.audit)
	if err != nil || strings.Contains(string(audit), "ghs_") || !strings.Contains(string(audit), "git_credential_minted") {
		t.Errorf("the audit: %v\n%s", err, audit)
	}
}

// Ledger: GB-26. Case: D13: submodules by relative and by SSH URLs, and LFS.
func TestMountExtras(t *testing.T) {
	t.Parallel()
	f := newForge(t, nil)
	f.expect(t, []string{"octo/site:write", "octo/app"}, `
git clone -q $url/site.git; cd site; git lfs install --local >/dev/null; git lfs track '*.bin' >/dev/null
head -c 100000 /dev/urandom > a.bin; sha256sum a.bin > sum
git submodule --quiet add ../app.git relative; git submodule --quiet add $url/app.git ssh; git config -f .gitmodules submodule.ssh.url git@example.com:octo/app.git
git add -A; git commit -qm extras; step push git push -q origin HEAD:main`, "ok push")
	mounts := f.mounts(t,
		gitmount.Document{Repository: "octo/site", MountPath: "/workspace/plain"},
		gitmount.Document{Repository: "octo/site", MountPath: "/workspace/full", Submodules: true, LFS: true},
	)
	s := f.session(t, append(grants(t, mounts), broker.Grant{Repository: "octo/app", Host: host, Issuer: "github"}))
	for range 2 {
		if _, err := gitmount.Stage(t.Context(), s.run, mounts, gitmount.Delivery); err != nil {
			t.Fatal(err)
		}
		if got := s.sh(t, `cd /workspace/full; sha256sum -c sum; cat relative/file ssh/file; git status --short; cd ../plain; head -c 7 a.bin; ls relative ssh`); got != "a.bin: OK\napp 3\napp 3\nversionrelative:\n\nssh:" {
			t.Errorf("got %s", got)
		}
	}
}

// Ledger: GB-9: what is wrong with git is said before the first turn, by the
// platform, with the mount and the step.
func TestVerifyBeforeTheFirstTurn(t *testing.T) {
	t.Parallel()
	f := newForge(t, nil)
	mounts := f.mounts(t, gitmount.Document{Repository: "octo/app", MountPath: "/workspace/app"})
	s := f.session(t, grants(t, mounts))
	if err := gitmount.Verify(t.Context(), s.run, mounts); err != nil {
		t.Fatal(err)
	}
	fails := func(mounts []gitmount.Mount, step gitmount.Step) {
		t.Helper()
		err := gitmount.Verify(t.Context(), s.run, mounts)
		var e *gitmount.Error
		if !errors.As(err, &e) || e.Code != gitmount.CodeAuth || e.Step != step || e.Mount != mounts[0].Path || e.Message == "" || strings.Contains(err.Error(), "ghs_") {
			t.Errorf("error %v, want step %s", err, step)
		}
	}
	fails(f.mounts(t, gitmount.Document{Repository: "octo/secret", MountPath: "/workspace/secret"}), "mint")
	s.stop() // with the edge goes the broker
	fails(mounts, "broker")
}

// The one-liner verifies too, unless it is told not to.
//
// Ledger: GB-9.
func TestRunVerifiesGit(t *testing.T) {
	t.Parallel()
	f := newForge(t, nil)
	got := f.run(t, []string{"octo/missing"}, "", "echo", "began")
	if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "git_auth_unavailable: example.com/octo/missing: mint: ") {
		t.Errorf("got %+v", got)
	}
	f.flags = append(f.flags, "--git-verify=false")
	if got = f.run(t, []string{"octo/missing"}, "", "echo", "began"); got.code != 0 || got.stdout != "began\n" {
		t.Errorf("got %+v", got)
	}
}
