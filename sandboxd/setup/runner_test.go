package setup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/setup"
	"github.com/sallyport/sallyport/sandboxd/setup/hint"
)

// Ledger: SV-4, SV-9, SV-12, SV-21, SV-28, IM-10
func TestPass(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	run := b.run(t, `id -un
shopt -q login_shell && echo login
echo $- | grep -q e && set -o | grep pipefail
pwd
echo "$GREETING" >greeting
mkdir -p .venv/bin && echo venv >.venv/bin/tool
echo rc >~/.toolrc
export LOST=1
`, func(d *environment.Definition) { d.EnvVars = map[string]string{"GREETING": "hello"} })
	if run.Status != setup.Succeeded || run.Phase != setup.Cleanup || run.ImageID == "" || run.ImageError != "" || run.FailureCode != "" {
		t.Fatalf("got %+v\n%s", run, text(b.log(t, run.ID), setup.Stdout, setup.Stderr, setup.System))
	}
	if run.ExitCode == nil || *run.ExitCode != 0 || run.FailedLine != 0 || run.StderrTail != "" || run.HintCode != "" {
		t.Errorf("got %+v", run)
	}
	if run.FinishedAt.Before(run.StartedAt) || run.StartedAt.Before(run.CreatedAt) {
		t.Errorf("times %v %v %v", run.CreatedAt, run.StartedAt, run.FinishedAt)
	}
	lines := b.log(t, run.ID)
	if got, want := text(lines, setup.Stdout), "user\nlogin\npipefail       \ton\n/workspace\n"; got != want {
		t.Errorf("output %q", got)
	}
	for i, l := range lines {
		if l.Seq != int64(i+1) {
			t.Fatalf("line %d has seq %d", i, l.Seq)
		}
	}
	if n := int64(len(lines)); n != run.LogLines || run.LogBytes == 0 || run.LogTruncated {
		t.Errorf("%d lines, run has %d", n, run.LogLines)
	}
	var phases []string
	for _, r := range b.records.saved {
		if s := fmt.Sprintf("%s %s", r.Status, r.Phase); len(phases) == 0 || phases[len(phases)-1] != s {
			phases = append(phases, s)
		}
	}
	want := []string{"queued provision", "provisioning provision", "running gpu_check", "running setup", "running profile", "running commit", "running cleanup", "succeeded cleanup"}
	if diff := cmp.Diff(want, phases); diff != "" {
		t.Error(diff)
	}
	// Ledger: SV-6, SV-8
	sb := b.session(t, run.ImageID)
	if got := sh(t, sb, "cat greeting .venv/bin/tool ~/.toolrc; echo ${LOST-lost}; ls -A /run /etc/sallyport 2>&1"); got != "hello\nvenv\nrc\nlost\nls: cannot access '/etc/sallyport': No such file or directory\n/run:" {
		t.Errorf("session has %q", got)
	}
}

// Ledger: SV-17, SV-18, SV-19, SV-20
func TestFailures(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	cases := []struct {
		name, script string
		change       func(*environment.Definition)
		code, line   int
		command      string
		hint         hint.Code
		stderr       string
	}{
		{"a line fails", "echo one\nls /nonexistent\necho two\n", nil, 2, 2, "ls /nonexistent", "", "ls: cannot access '/nonexistent': No such file or directory"},
		{"a pipe fails", "false | true\n", nil, 1, 1, "false | true", "", ""},
		{"not found", "echo x\nfrobnicate --all\n", nil, 127, 2, "frobnicate --all", hint.CommandNotFound, "frobnicate: command not found"},
		{"a function fails", "f() {\n  cat /nope\n}\nf\n", nil, 1, 2, "cat /nope", "", "cat: /nope"},
		{"several lines", "cat \\\n  /nope \\\n  -n\n", nil, 1, 1, `cat \`, "", "cat: /nope"},
		{"heredoc", "sh <<END\nexit 5\nEND\n", nil, 5, 1, "sh <<END", "", ""},
		{"sourced", "echo 'cat /nope' >lib.sh\n. ./lib.sh\n", nil, 1, 0, "", "", "cat: /nope"},
		{"syntax", "echo x\nif true; then\n", nil, 2, 3, "", "", "syntax error"},
		{"forbidden", "touch /etc/x\n", nil, 1, 1, "touch /etc/x", hint.PermissionDenied, "Permission denied"},
		{"no network", "curl -sS https://allowed.example.com/\n", nil, 56, 1, "curl -sS https://allowed.example.com/", hint.NetworkBlocked, "403"},
		{"no names", "unset https_proxy HTTPS_PROXY; curl -sS --noproxy '*' https://allowed.example.com/\n", nil, 6, 1, "", hint.DNSBlocked, "Could not resolve"},
		{"time is up", "echo begin\nsetsid sleep 1000 &\nsleep 1000\n", func(d *environment.Definition) { d.Setup.TimeoutSeconds = 2 }, 124, 3, "sleep 1000", hint.Timeout, ""},
		{"out of memory", "echo x\ndd if=/dev/zero of=/dev/null bs=1500M count=1\n", func(d *environment.Definition) { d.Resources.MemoryMiB = 1024 }, 137, 2, "", hint.OutOfMemory, ""},
		{"disk is full", "echo x\nhead -c 2G /dev/zero >big\n", func(d *environment.Definition) { d.WorkspaceGiB = 1 }, 1, 2, "head -c 2G /dev/zero >big", hint.NoSpace, "No space left on device"},
		{"a credential in the output", "echo ghp_abcdefghijklmnopqrstuvwxyz0123456789 >&2; cat /ghp_abcdefghijklmnopqrstuvwxyz0123456789\n", nil, 1, 1, "echo [redacted] >&2; cat /[redacted]", "", "[redacted]\ncat: /[redacted]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var change []func(*environment.Definition)
			if c.change != nil {
				change = append(change, c.change)
			}
			run := b.run(t, c.script, change...)
			lines := b.log(t, run.ID)
			all := text(lines, setup.Stdout, setup.Stderr, setup.Marker, setup.System)
			if run.Status != setup.Failed || run.Phase != setup.Script || run.FailureCode != setup.FailSetup || run.ImageID != "" {
				t.Fatalf("got %+v\n%s", run, all)
			}
			if run.ExitCode == nil || *run.ExitCode != c.code {
				t.Errorf("exit code %v, want %d\n%s", run.ExitCode, c.code, all)
			}
			if run.FailedLine != c.line || c.command != "" && run.FailedCommand != c.command {
				t.Errorf("line %d: %q\n%s", run.FailedLine, run.FailedCommand, all)
			}
			if run.HintCode != string(c.hint) || (run.Hint == "") != (c.hint == "") {
				t.Errorf("hint %q %q\n%s", run.HintCode, run.Hint, all)
			}
			if !strings.Contains(run.StderrTail, c.stderr) || len(run.StderrTail) > 2048 {
				t.Errorf("stderr_tail %q", run.StderrTail)
			}
			if run.Message == "" || strings.Contains(all, "ghp_") {
				t.Errorf("message %q\n%s", run.Message, all)
			}
		})
	}
}

// Ledger: SV-18, SV-29, SV-31
func TestLongOutput(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	run := b.run(t, `echo first
yes | head -c 6M || true
printf 'bad \377 byte \033[31mred\033[0m\n' >&2
head -c 1M /dev/zero | tr '\0' x >&2
echo >&2
for i in {1..300}; do echo "last words $i" >&2; done
false
`)
	lines := b.log(t, run.ID)
	if run.Status != setup.Failed || !run.LogTruncated || run.LogBytes > 4<<20+1<<10 || run.LogLines != int64(len(lines)) {
		t.Errorf("got %+v, %d lines", run, len(lines))
	}
	if !strings.HasPrefix(text(lines, setup.Stdout), "first\ny\ny\n") {
		t.Error("the beginning is lost")
	}
	if !strings.HasSuffix(run.StderrTail, "\nlast words 299\nlast words 300") || len(run.StderrTail) > 2048 || len(run.StderrTail) < 2000 || !strings.HasPrefix(run.StderrTail, "last words ") {
		t.Errorf("tail of %d bytes: %q\n%+v\n%.300s", len(run.StderrTail), run.StderrTail, run, text(lines[max(0, len(lines)-5):], setup.Stdout, setup.Stderr, setup.Marker, setup.System))
	}

	run = b.run(t, `printf 'bad \377 byte \033[31mred\033[0m\n' >&2
head -c 1M /dev/zero | tr '\0' x
echo
false
`)
	lines = b.log(t, run.ID)
	if got := text(lines, setup.Stderr); got != "bad \uFFFD byte \x1b[31mred\x1b[0m\n" {
		t.Errorf("log %q", got)
	}
	if run.StderrTail != "bad \uFFFD byte red" {
		t.Errorf("tail %q", run.StderrTail)
	}
	out := text(lines, setup.Stdout)
	if n := strings.Count(out, "x"); n != 1<<20 || strings.Count(out, "\n") < 16 {
		t.Errorf("%d of a line of 1 MiB, in %d lines", n, strings.Count(out, "\n"))
	}
}

// Ledger: SV-26, SV-30
func TestMarkers(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	run := b.run(t, "echo a\necho b >&2\n\nfor i in 1 2; do\n  echo $i\ndone\n")
	var got []string
	for _, l := range b.log(t, run.ID) {
		if l.Stream != setup.System {
			got = append(got, fmt.Sprintf("%s %d %s", l.Stream, l.Line, l.Text))
		}
	}
	want := []string{
		"marker 1 echo a", "stdout 1 a", "marker 2 echo b >&2", "stderr 2 b",
		"marker 4 for i in 1 2; do", "marker 5 echo $i", "stdout 5 1", "marker 4 for i in 1 2; do", "marker 5 echo $i", "stdout 5 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Ledger: SV-13
func TestCancel(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	run := b.begin(t, "echo started\nsleep 1000\n")
	b.seen(t, run.ID, "started")
	before := edge.boundaries(t)
	cancelled, err := b.runner.Cancel(t.Context(), run.ID)
	if err != nil || cancelled.Status != setup.Cancelled || cancelled.ImageID != "" || cancelled.FailureCode != "" {
		t.Errorf("got %+v, %v", cancelled, err)
	}
	if cancelled.ExitCode != nil || cancelled.FailedLine != 0 {
		t.Errorf("a verdict: %+v", cancelled)
	}
	if before == 0 {
		t.Error("no boundary was open")
	}
	b.nothingLeft(t)
	if _, err := b.runner.Cancel(t.Context(), run.ID); fault.CodeOf(err) != fault.SetupRunFinished {
		t.Errorf("again: %v", err)
	}
	if _, err := b.runner.Cancel(t.Context(), "srun_none"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("of none: %v", err)
	}
}

// seen waits until a run has said something.
func (b *bed) seen(t *testing.T, id, what string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	for after := int64(0); ; {
		page, err := b.runner.Log(ctx, id, after, 100, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range page.Lines {
			if l.Text == what {
				return
			}
		}
		if page.Status.Terminal() && len(page.Lines) == 0 || ctx.Err() != nil {
			t.Fatalf("%s: never said %q", page.Status, what)
		}
		after = page.NextAfter
	}
}

// nothingLeft checks that no compute of the bed is left.
func (b *bed) nothingLeft(t testing.TB) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(b.state, "runs", "sandboxes"))
	if err != nil && !errors.Is(err, os.ErrNotExist) || len(entries) > 0 {
		t.Errorf("sandboxes left: %v, %v", entries, err)
	}
}

// Ledger: SV-14
func TestLimits(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	start := func(org, env string, kind setup.Kind) (setup.Run, error) {
		return b.runner.Start(t.Context(), setup.Request{OrganizationID: org, EnvironmentID: env, Kind: kind, Definition: definition("sleep 1000\n")})
	}
	var all []setup.Run
	for i := range 4 {
		run, err := start("org_1", fmt.Sprintf("env_%d", i), setup.Manual)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, run)
	}
	_, err := start("org_1", "env_2", setup.Manual)
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.SetupRunInFlight || f.Details["active_setup_run_id"] != all[2].ID {
		t.Errorf("same environment: %v", err)
	}
	_, err = start("org_1", "env_9", setup.Manual)
	if !errors.As(err, &f) || f.Code != fault.SetupRunLimit || f.Details["retry_after_seconds"] == nil {
		t.Errorf("same organization: %v", err)
	}
	other, err := start("org_2", "env_10", setup.Manual)
	if err != nil {
		t.Error(err)
	}
	session, err := start("org_1", "env_0", setup.Session)
	if err != nil {
		t.Error(err)
	}
	for _, run := range append(all, other, session) {
		if _, err := b.runner.Cancel(t.Context(), run.ID); err != nil {
			t.Error(err)
		}
	}
	// A run that can't be recorded isn't accepted, and doesn't count.
	b.records.mu.Lock()
	b.records.fail = func(setup.Run) error { return errors.New("no") }
	b.records.mu.Unlock()
	if _, err := start("org_1", "env_0", setup.Manual); err == nil {
		t.Error("accepted")
	}
	b.records.mu.Lock()
	b.records.fail = nil
	b.records.mu.Unlock()
	run, err := start("org_1", "env_0", setup.Manual)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.runner.Cancel(t.Context(), run.ID); err != nil {
		t.Error(err)
	}
	b.nothingLeft(t)
}

// Ledger: SV-24
func TestStop(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(o *setup.Options) { o.Parallel = 1 })
	running := b.begin(t, "echo started\nsleep 1000\n")
	b.seen(t, running.ID, "started")
	queued := b.begin(t, "echo never\n")
	b.stop()
	for _, id := range []string{running.ID, queued.ID} {
		run, err := b.records.Run(t.Context(), id)
		if err != nil || run.Status != setup.Failed || run.FailureCode != setup.FailProvision || !strings.Contains(run.Message, "interrupted") {
			t.Errorf("got %+v, %v", run, err)
		}
	}
	b.nothingLeft(t)
}

// What a killed process left is ended when the next one serves.
func TestRestart(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.stop()
	left := setup.Run{ID: "srun_left", EnvironmentID: "env_1", Kind: setup.Manual, Status: setup.Running, Phase: setup.Script}
	if err := b.records.SaveRun(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	b.serve(t)
	run := b.await(t, b.begin(t, "true\n").ID) // Start waits for the recovery
	if run.Status != setup.Succeeded {
		t.Errorf("got %+v", run)
	}
	got, err := b.runner.Get(t.Context(), left.ID, 0)
	if err != nil || got.Status != setup.Failed || got.FailureCode != setup.FailProvision || got.FinishedAt.IsZero() {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Ledger: SV-5
func TestNetworkPolicyAndVariables(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	run := b.run(t, "echo $COLOR\nnpm config get proxy 2>/dev/null | head -0\ncurl -s -o /dev/null -w '%{http_code}\\n' http://blocked.example.com/ || true\n",
		func(d *environment.Definition) { d.EnvVars = map[string]string{"COLOR": "blue"} })
	if got := text(b.log(t, run.ID), setup.Stdout); got != "blue\n403\n" {
		t.Errorf("got %q\n%+v", got, run)
	}
	audit, err := os.ReadFile(edge.audit)
	if err != nil || !strings.Contains(string(audit), run.ID) || !strings.Contains(string(audit), "blocked.example.com") {
		t.Errorf("the audit log knows nothing of it: %v", err)
	}
}

// Ledger: SV-16, IM-12
func TestCredentialInImage(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	run := b.run(t, "echo 'https://u:hunter2hunter2@forge.example.com' >~/.git-credentials\n")
	if run.Status != setup.Succeeded || run.ImageID != "" || !strings.Contains(run.ImageError, "/home/user/.git-credentials") {
		t.Errorf("got %+v", run)
	}
	if !strings.Contains(run.Message, "image failed") {
		t.Errorf("message %q", run.Message)
	}
	if keys, err := b.provider.Layers(t.Context()); err != nil || len(keys) > 0 {
		t.Errorf("layers %v, %v", keys, err)
	}
	b.nothingLeft(t)
}

// Ledger: SV-17
func TestFailuresBeforeTheScript(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for name, c := range map[string]struct {
		change func(*environment.Definition)
		code   string
		phase  setup.Phase
	}{
		"provider":   {func(d *environment.Definition) { d.Provider = "none" }, setup.FailConfiguration, setup.Provision},
		"privileged": {func(d *environment.Definition) { d.Privileged = true }, setup.FailPrivileged, setup.Provision},
		"accelerator": {func(d *environment.Definition) {
			d.Resources.Accelerator = &environment.Accelerator{Type: "gpu", Name: "t4", Count: 1}
		}, setup.FailGPU, setup.Provision},
		"size": {func(d *environment.Definition) { d.Resources.MemoryMiB = 1 << 20 }, setup.FailConfiguration, setup.Provision},
		"mounts": {func(d *environment.Definition) {
			d.Mounts = []environment.Mount{{Source: "https://h.example.com/x", Path: "x"}}
		}, setup.FailMount, setup.Provision},
		"check": {nil, setup.FailCheck, setup.Profile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, change := "chmod 000 /workspace\n", []func(*environment.Definition){}
			if c.change != nil {
				change = append(change, c.change)
			}
			run := b.run(t, script, change...)
			if run.Status != setup.Failed || run.FailureCode != c.code || run.Phase != c.phase || run.FailedLine != 0 || run.Message == "" {
				t.Errorf("got %+v", run)
			}
			if (run.ExitCode == nil) != (c.phase == setup.Provision) {
				t.Errorf("exit code %v", run.ExitCode)
			}
		})
	}
}
