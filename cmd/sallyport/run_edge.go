package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/edge/control"
)

// edgeStart is how long an edge may take to answer.
const edgeStart = 10 * time.Second

// edgeProcess is an edge that lives for one run.
type edgeProcess struct {
	client *control.Client
	cmd    *exec.Cmd
	stdin  io.Closer     // its end tells the edge to stop
	ready  chan error    // receives one result
	exited chan struct{} // closed once the process has been waited for
	err    error         // of Wait; read it after exited
}

// startEdge starts an edge whose files are in dir. It doesn't wait for it.
func startEdge(dir string, doc config.Document, stderr io.Writer) (*edgeProcess, error) {
	program, err := findProgram("edge")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "edge.json")
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("write configuration of the edge: %w", err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, fmt.Errorf("write configuration of the edge: %w", err)
	}
	args := []string{"serve", "--config", file, "--ephemeral", "--until-stdin-closes", "--log-level", "warn"}
	if uid := unprivilegedUID(); uid > 0 {
		args = append(args, "--user", fmt.Sprintf("%d:%d", uid, uid))
	}
	cmd := exec.Command(program, args...)
	cmd.Env = edgeEnvironment()
	cmd.Stderr = stderr
	// A signal from the terminal is for the command; the edge serves until
	// that has ended.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start edge: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start edge: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start edge: %w", err)
	}
	e := &edgeProcess{
		client: control.NewClient(doc.Listen.Control),
		cmd:    cmd,
		stdin:  stdin,
		ready:  make(chan error, 1),
		exited: make(chan struct{}),
	}
	go e.watch(stdout)
	return e, nil
}

// watch waits for the line that says that the edge is ready, then for its end.
func (e *edgeProcess) watch(stdout io.Reader) {
	out := bufio.NewReader(stdout)
	_, err := out.ReadString('\n')
	e.ready <- err
	_, _ = io.Copy(io.Discard, out) // Wait closes the pipe, so it comes after
	e.err = e.cmd.Wait()
	close(e.exited)
}

// wait waits until the edge answers.
func (e *edgeProcess) wait(ctx context.Context) error {
	select {
	case err := <-e.ready:
		if err != nil {
			return fmt.Errorf("start edge: it ended before it was ready: %w", e.end())
		}
		return nil
	case <-time.After(edgeStart):
		return fmt.Errorf("start edge: not ready after %v", edgeStart)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end waits for the process and returns how it ended.
func (e *edgeProcess) end() error {
	<-e.exited
	if e.err == nil {
		return errors.New("exit status 0")
	}
	return e.err
}

// stop lets the edge finish, so that its audit log is complete, and kills it
// if that lasts longer than ctx.
func (e *edgeProcess) stop(ctx context.Context) error {
	e.stdin.Close()
	select {
	case <-e.exited:
	case <-ctx.Done():
		killErr := e.cmd.Process.Kill()
		<-e.exited
		return errors.Join(fmt.Errorf("stop edge: %w", ctx.Err()), killErr)
	}
	if e.err != nil {
		return fmt.Errorf("stop edge: %w", e.err)
	}
	return nil
}

// findProgram returns another program of ours: the one beside this program,
// else the one in PATH.
func findProgram(name string) (string, error) {
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		beside := filepath.Join(filepath.Dir(self), name)
		if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return beside, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("find %s: no program %q beside sallyport or in PATH", name, name)
	}
	return path, nil
}

// edgeEnvironment is what an edge needs of ours: where the system's roots are.
// The caller's secrets are not its business.
func edgeEnvironment() []string {
	env := []string{}
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "GODEBUG", "TZ"} {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Users that are made as they are needed have uids from this range on Linux
// distributions (systemd calls them dynamic users).
const (
	firstDynamicUID = 61184
	lastDynamicUID  = 65519
)

// unprivilegedUID returns the uid that an edge started by root becomes: one
// that no account has, another one for each run, so that nothing else on the
// machine runs as it. It is 0 if there is no root to give up, or no other uid
// in the namespace that we are root of.
func unprivilegedUID() int {
	if os.Geteuid() != 0 {
		return 0
	}
	for range 100 {
		uid := firstDynamicUID + rand.IntN(lastDynamicUID-firstDynamicUID+1) //nolint:gosec // keeps runs apart, guards nothing
		if _, err := user.LookupId(strconv.Itoa(uid)); err != nil && mapped(uid) {
			return uid
		}
	}
	return 0
}

// mapped reports whether uid exists in our user namespace.
func mapped(uid int) bool {
	data, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		var inside, outside, size int
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err == nil && uid >= inside && uid < inside+size {
			return true
		}
	}
	return false
}
