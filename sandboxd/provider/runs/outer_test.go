package runs_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// ordinaryEnv makes the test program an ordinary user's, which starts a sandbox
// with that directory for its state and says what happened.
const ordinaryEnv = "RUNS_TEST_ORDINARY"

// ordinaryCode is what the program ends with, to see that it gets through.
const ordinaryCode = 42

func ordinary(dir string) int {
	done, code, err := runs.EnterUserNamespace()
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	if done {
		return code
	}
	if err := inOrdinarySandbox(context.Background(), dir); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	return ordinaryCode
}

func inOrdinarySandbox(ctx context.Context, dir string) error {
	p, err := runs.New(runs.Config{StateDir: filepath.Join(dir, "state"), Init: filepath.Join(dir, "sbinit")})
	if err != nil {
		return err
	}
	if err := p.Check(ctx); err != nil {
		return err
	}
	for _, d := range p.Degraded() {
		fmt.Println("degraded:", d)
	}
	n, err := p.Network(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = n.Close() }()
	go serve(n.Transparent, "transparent")
	go serveDatagrams(n.DNS)
	sb, err := p.Start(ctx, runs.Spec{ID: "ordinary", Network: n, Workspace: filepath.Join(dir, "workspace"),
		Files: map[string]runs.File{"/etc/extra": {Data: []byte("extra"), Mode: 0o644}}})
	if err != nil {
		return err
	}
	script, err := os.ReadFile(filepath.Join(dir, "escape.py"))
	if err != nil {
		return err
	}
	given, err := os.Open(filepath.Join(dir, "input"))
	if err != nil {
		return err
	}
	defer func() { _ = given.Close() }()
	input := shell("(: >/proc/self/fd/0; chmod 4777 /proc/self/fd/0) 2>/dev/null; cat")
	input.Stdin = given
	root := shell("id -u; touch /etc/by-root && chown user /etc/by-root && stat -c %U /etc/by-root")
	root.User = "root"
	escape := python(string(script), filepath.Join(dir, "state"), "none")
	asRoot := escape
	asRoot.User = "root"
	for _, c := range []struct {
		name string
		exec runs.Exec
	}{
		{"user", shell("id -u; stat -c %U . given; cat given; echo new >made; cat /etc/extra; grep Cap /proc/self/status")},
		{"input", input},
		{"root", root},
		{"net", python(connect, "93.184.216.34:443", "10.0.0.1:1")},
		{"udp", python(datagrams)},
		{"escape", escape},
		{"escape as root", asRoot},
		{"terminal", runs.Exec{Argv: []string{"tty"}, TTY: true}},
	} {
		fmt.Printf("== %s\n", c.name)
		out, err := plainOutput(ctx, sb, c.exec)
		fmt.Println(out)
		if err != nil {
			fmt.Println("error:", err)
		}
	}
	if err := sb.Stop(ctx); err != nil {
		return err
	}
	left, err := os.ReadDir(filepath.Join(dir, "state", "sandboxes"))
	fmt.Println("== left", len(left), err)
	return nil
}

func plainOutput(ctx context.Context, sb *runs.Sandbox, e runs.Exec) (string, error) {
	var out bytes.Buffer
	e.Stdout, e.Stderr = &out, &out
	p, err := sb.Exec(ctx, e)
	if err != nil {
		return "", err
	}
	exit, err := p.Wait(ctx)
	if exit.Code != 0 {
		fmt.Fprintf(&out, "code %d\n", exit.Code)
	}
	return out.String(), err
}

// runOrdinary runs the test program as an ordinary user and returns the
// sections that it printed.
func runOrdinary(t *testing.T, uid int, wrap func(c *exec.Cmd)) (map[string]string, string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: becomes an ordinary user")
	}
	dir, err := os.MkdirTemp("", "ordinary-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for name, from := range map[string]string{"test": "/proc/self/exe", "sbinit": initProgram, "escape.py": "testdata/escape.py"} {
		copyFile(t, filepath.Join(dir, name), from)
	}
	if err := os.Mkdir(filepath.Join(dir, "workspace"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "workspace", "given"), []byte("given\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "input"), []byte("input\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "workspace", "workspace/given", "input"} {
		if err := os.Chown(filepath.Join(dir, path), uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(filepath.Join(dir, "test"))
	c.Env = []string{"PATH=" + os.Getenv("PATH"), ordinaryEnv + "=" + dir}
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	if wrap != nil {
		wrap(c)
	}
	b, err := c.CombinedOutput()
	out := string(b)
	if c.ProcessState.ExitCode() != ordinaryCode {
		t.Fatalf("ended with %v\n%s", err, out)
	}
	st, err := os.Stat(filepath.Join(dir, "workspace", "made"))
	if err != nil || int(st.Sys().(*syscall.Stat_t).Uid) != uid {
		t.Errorf("the file made inside: %+v %v", st, err)
	}
	// What was its input only must be neither rewritten nor given other modes.
	b, err = os.ReadFile(filepath.Join(dir, "input"))
	if err != nil || string(b) != "input\n" {
		t.Errorf("the file that was its input: %q %v", b, err)
	}
	if st, err := os.Stat(filepath.Join(dir, "input")); err != nil || st.Mode() != 0o600 {
		t.Errorf("the file that was its input: %v %v", st.Mode(), err)
	}
	sections := make(map[string]string)
	for i, s := range strings.Split(out, "== ") {
		name, text, _ := strings.Cut(s, "\n")
		if i == 0 {
			name, text = "", s
		}
		sections[name] = strings.TrimSpace(text)
	}
	return sections, out
}

func copyFile(t *testing.T, to, from string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// What an ordinary user's sandbox answers besides, in attempts.
var ordinaryAnswers = map[string]string{
	"write usr":           "EROFS|EACCES",
	"set-user-id file":    "EPERM",
	"set-user-id program": "failed",
	"kill init":           "EPERM|done None", // may be the same user; it lives on
	"kill init hard":      "EPERM|done None",
}

func checkOrdinary(t *testing.T, sections map[string]string) {
	t.Helper()
	if got := sections["user"]; !strings.HasPrefix(got, "1000\nuser\nuser\ngiven\nextraCapInh") || !strings.Contains(got, "CapEff:\t0000000000000000") ||
		!strings.Contains(got, "CapPrm:\t0000000000000000") || !strings.Contains(got, "CapAmb:\t0000000000000000") {
		t.Errorf("as user: %s", got)
	}
	if got := sections["net"]; !strings.Contains(got, "transparent 93.184.216.34:443") || !strings.Contains(got, "transparent 10.0.0.1:1") {
		t.Errorf("network: %s", got)
	}
	if got := sections["udp"]; !strings.Contains(got, "8.8.8.8 53 dns q") || !strings.Contains(got, "8.8.8.8 443 ConnectionRefused") {
		t.Errorf("datagrams: %s", got)
	}
	if got := sections["input"]; got != "input" {
		t.Errorf("input: %s", got)
	}
	if got := sections["terminal"]; got != "/dev/pts/0" {
		t.Errorf("terminal: %s", got)
	}
	if _, ok := sections["left 0 <nil>"]; !ok {
		t.Errorf("something is left: %v", sections)
	}
	checkAttempts(t, "user", sections["escape"], ordinaryAnswers)
}

// Ledger: CL-1
func TestOrdinaryUser(t *testing.T) {
	const uid = 61234
	sections, out := runOrdinary(t, uid, nil)
	checkOrdinary(t, sections)
	if !strings.Contains(sections[""], "degraded: Limits of memory") || !strings.Contains(sections[""], "root of the sandbox") {
		t.Errorf("what isn't enforced isn't told:\n%s", out)
	}
	if got := sections["root"]; !strings.Contains(got, "error: exec: root of the sandbox needs") {
		t.Errorf("as root: %s", got)
	}
}

// Where the system grants a range of ids, the sandbox has a root of its own.
// The test grants one in a mount namespace.
func TestOrdinaryUserWithRange(t *testing.T) {
	if _, err := exec.LookPath("newuidmap"); err != nil {
		t.Skip("needs newuidmap (package uidmap)")
	}
	const uid = 61235
	files := t.TempDir() // what the user finds in /etc
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	grant := fmt.Appendf(nil, "%d:500000:65536\n", uid)
	for name, b := range map[string][]byte{
		"passwd": fmt.Appendf(passwd, "ranged:x:%d:%d::/:/bin/sh\n", uid, uid), "subuid": grant, "subgid": grant,
	} {
		if err := os.WriteFile(filepath.Join(files, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sections, out := runOrdinary(t, uid, func(c *exec.Cmd) {
		script := `for f in passwd subuid subgid; do mount --bind "$0/$f" /etc/$f || exit 1; done
exec setpriv --reuid "$1" --regid "$1" --clear-groups "$2"`
		c.Args = []string{"sh", "-c", script, files, fmt.Sprint(uid), c.Path}
		c.Path = "/bin/sh"
		c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	})
	checkOrdinary(t, sections)
	if got := sections["root"]; got != "0\nuser" {
		t.Errorf("as root: %s\n%s", got, out)
	}
	checkAttempts(t, "root", sections["escape as root"], ordinaryAnswers)
}
