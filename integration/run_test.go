package integration_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport/integration/harness"
)

// A caller is who runs sallyport.
type caller struct {
	name string
	uid  uint32
	// granted: the system grants it a range of ids (subuid(5)), with which its
	// sandboxes have a root of their own.
	granted bool
}

var (
	asRoot     = caller{name: "root"}
	asOrdinary = caller{name: "ordinary", uid: 61234}
	asGranted  = caller{name: "ordinary with a range of ids", uid: 61235, granted: true}
	callers    = []caller{asRoot, asOrdinary, asGranted}
)

// users are those that a caller's sandbox has.
func (c caller) users() []string {
	if c == asOrdinary {
		return []string{"user"}
	}
	return []string{"user", "root"}
}

// result is how one `sallyport run` ended.
type result struct {
	code           int
	stdout, stderr string
	audit          []harness.Record
}

// deadline ends a command that hangs; nothing waits for it otherwise.
const deadline = 3 * time.Minute

// sandbox runs `sallyport run FLAGS -- COMMAND` and returns how it ended.
func sandbox(t *testing.T, who caller, flags []string, command ...string) result {
	t.Helper()
	audit := filepath.Join(folder(t, who), "audit.jsonl")
	args := append([]string{"run", "--audit", audit}, flags...)
	res := run(t, who, nil, product.Path("sallyport"), append(append(args, "--"), command...)...)
	records, err := harness.ReadAudit(audit)
	if err != nil {
		t.Fatal(err)
	}
	res.audit = records
	return res
}

// run runs a command outside of any sandbox, with env added to ours.
func run(t *testing.T, who caller, env []string, path string, args ...string) result {
	t.Helper()
	cmd := command(t, who, env, path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("run %s: %v", path, err)
	}
	return result{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}

// command prepares a command that is killed at the deadline or with the test.
func command(t *testing.T, who caller, env []string, path string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline) // until after other clean-up
	t.Cleanup(cancel)
	if who.granted {
		path, args = "sh", append([]string{"-c", grant, folder(t, asRoot), strconv.Itoa(int(who.uid)), path}, args...)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), env...)
	if who.uid != 0 {
		home := folder(t, who)
		cmd.Env = append(append(os.Environ(), "HOME="+home, "TMPDIR="+home, "XDG_RUNTIME_DIR="+home), env...)
		cmd.Dir = home
	}
	switch {
	case who.granted:
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	case who.uid != 0:
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: who.uid, Gid: who.uid}}
	}
	return cmd
}

// grant becomes the user $1 with a range of ids and runs the rest. The grant
// stands in files of $0 that only this mount namespace has in /etc.
const grant = `
set -e
files=$0 uid=$1; shift
{ cat /etc/passwd; echo "granted:x:$uid:$uid::/:/bin/sh"; } >"$files/passwd"
for f in subuid subgid; do echo "granted:500000:65536" >"$files/$f"; done
for f in passwd subuid subgid; do touch "/etc/$f"; mount --bind "$files/$f" "/etc/$f"; done
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
`

// folder returns a new folder that who owns.
func folder(t *testing.T, who caller) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sallyport-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove test folder: %v", err)
		}
	})
	if err := os.Chown(dir, int(who.uid), int(who.uid)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// write puts a file into dir, readable by all, and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// world is an origin that answers for every name it was made with.
type world struct {
	*harness.Origin
	ca    string // file
	names []string
}

// newWorld starts an HTTPS origin for names.
func newWorld(t *testing.T, names ...string) *world {
	t.Helper()
	ca, err := harness.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue(names...)
	if err != nil {
		t.Fatal(err)
	}
	origin := harness.NewOrigin(&cert)
	t.Cleanup(origin.Close)
	dir := folder(t, asRoot)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return &world{Origin: origin, ca: write(t, dir, "ca.pem", string(ca.PEM())), names: names}
}

// flags tell sallyport where the world's names are and whom to trust there.
func (w *world) flags() []string {
	flags := []string{"--upstream-ca", w.ca, "--upstream-cidr", "127.0.0.1/32"}
	for _, name := range w.names {
		flags = append(flags, "--resolve", name+":443="+w.Addr())
	}
	return flags
}

// allow adds an --allow flag for each host.
func allow(flags []string, hosts ...string) []string {
	flags = append([]string(nil), flags...)
	for _, h := range hosts {
		flags = append(flags, "--allow", h)
	}
	return flags
}

// want fails the test unless the command ended with code.
func (r result) want(t *testing.T, code int) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, clip(r.stdout), clip(r.stderr))
	}
}

// contains fails the test unless text holds each part.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in: %s", strconv.Quote(part), clip(text))
		}
	}
}

func clip(s string) string {
	const most = 3000
	if len(s) > most {
		return s[:most/2] + "\n[…]\n" + s[len(s)-most/2:]
	}
	return s
}
