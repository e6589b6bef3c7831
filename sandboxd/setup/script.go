package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sallyport/sallyport/sandboxd/provider"
	"github.com/sallyport/sallyport/sandboxd/setup/hint"
	"github.com/sallyport/sallyport/sandboxd/setup/trace"
)

// Paths inside the sandbox. Files below runDir are placed by the service and
// get into no image.
const (
	workspace   = "/workspace"
	runDir      = "/run/sallyport"
	scriptPath  = runDir + "/setup.sh"
	preludePath = runDir + "/prelude.sh"
)

const exitTimeout = 124 // as timeout(1) has it

// scriptResult is how the script ended.
type scriptResult struct {
	exited     bool
	code       int
	line       int
	command    string
	stderrTail string
	hint       hint.Hint
}

// scriptFiles adds the files that the script needs.
func (a *attempt) scriptFiles(files map[string]provider.File) {
	a.trace = trace.New()
	d := a.j.definition
	files[scriptPath] = provider.File{Data: []byte(d.Setup.Script), Mode: 0o644}
	files[preludePath] = provider.File{Data: a.trace.Prelude(scriptPath, d.EnvVars["BASH_ENV"]), Mode: 0o644}
}

// environment is what commands of the run have: defaults, the environment's own
// variables, and what leads them through the boundary.
func (a *attempt) environment() []string {
	env := map[string]string{
		"PATH":    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME":    "/home/user",
		"USER":    "user",
		"LOGNAME": "user",
		"SHELL":   "/bin/bash",
		"LANG":    "C.UTF-8",
	}
	maps.Copy(env, a.j.definition.EnvVars)
	maps.Copy(env, a.access.Env)
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// runScript runs the script as the sandbox's user in a login shell of its own
// (ledger SV-4).
func (a *attempt) runScript(ctx context.Context) error {
	tracker := trace.NewTracker(a.script, a.log)
	stdout, stderr := tracker.Writer(a.trace, trace.Stdout), tracker.Writer(a.trace, trace.Stderr)
	p, err := a.sandbox.Exec(ctx, provider.Exec{
		Argv:   []string{"bash", "--login", scriptPath},
		Env:    append(a.environment(), "BASH_ENV="+preludePath),
		Dir:    workspace,
		Stdout: stdout, Stderr: stderr,
	})
	if err != nil {
		return provisionFailure(ctx, err)
	}
	exit, timedOut, err := a.await(ctx, p)
	tracker.Finish(stdout, stderr)
	a.log.finish()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && exit.Reason != "" { // there is no bash
		return failed(FailProvision, errors.New(exit.Reason), "The image can't run setup scripts: it has no bash.")
	}
	if err != nil {
		return failed(FailProvision, err, "The compute was lost while the script ran.")
	}
	return a.judge(exit, timedOut, tracker)
}

// await waits for the script, and ends all of it when its time is up.
func (a *attempt) await(ctx context.Context, p provider.Process) (exit provider.Exit, timedOut bool, err error) {
	limit := time.Duration(a.j.definition.Setup.TimeoutSeconds) * time.Second
	if limit == 0 {
		limit = defaultScriptTime
	}
	limited, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	exit, err = p.Wait(limited)
	if limited.Err() == nil || err == nil {
		return exit, false, err
	}
	// The shell first, so that nothing more is started; whatever has a session
	// of its own ends with the sandbox.
	stop, cancelStop := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancelStop()
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return provider.Exit{}, false, err
	}
	exit, err = p.Wait(stop)
	return exit, ctx.Err() == nil, err
}

// judge makes a failure of how the script ended.
func (a *attempt) judge(exit provider.Exit, timedOut bool, tracker *trace.Tracker) error {
	s := &scriptResult{exited: true, code: exit.Code}
	a.result = s
	if timedOut {
		s.code = exitTimeout
	}
	if s.code == 0 {
		return nil
	}
	s.line = tracker.Failed()
	s.stderrTail = a.log.stderrTail()
	if line := syntaxErrorLine(s.stderrTail); line > 0 && s.code == 2 {
		s.line = line
	}
	s.command = a.log.redact.Text(a.script.Text(s.line))
	s.hint = hint.Recognise(hint.Failure{
		ExitCode: s.code, TimedOut: timedOut, Exhausted: exit.OOM, Output: a.log.ending(),
	})
	where := ""
	if s.line > 0 {
		where = fmt.Sprintf(" on line %d", s.line)
	}
	if timedOut {
		return failed(FailSetup, nil, "The setup script reached its time limit%s.", where)
	}
	return failed(FailSetup, nil, "The setup script failed%s with exit code %d.", where, s.code)
}

// syntaxError is how Bash says that it can't read the script, naming the line.
var syntaxError = regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(scriptPath) + `: line (\d+): .*(?:syntax error|unexpected EOF)`)

func syntaxErrorLine(stderr string) int {
	m := syntaxError.FindStringSubmatch(stderr)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return n
}

// commandResult is how a command of the service's own ended.
type commandResult struct {
	exit   provider.Exit
	stderr string // its last line, redacted
}

// command runs a command as the sandbox's user.
func (a *attempt) command(ctx context.Context, stdin []byte, argv ...string) (commandResult, error) {
	var stderr bounded
	e := provider.Exec{Argv: argv, Env: a.environment(), Dir: workspace, Stderr: &stderr}
	if stdin != nil {
		e.Stdin = bytes.NewReader(stdin)
	}
	p, err := a.sandbox.Exec(ctx, e)
	if err != nil {
		return commandResult{}, err
	}
	exit, err := p.Wait(ctx)
	if err != nil {
		_ = p.Signal(syscall.SIGKILL)
		return commandResult{}, err
	}
	lines := strings.Split(strings.TrimSpace(a.log.redact.Text(string(stderr.b))), "\n")
	return commandResult{exit, lines[len(lines)-1]}, nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ b []byte }

func (w *bounded) Write(p []byte) (int, error) {
	w.b = append(w.b, p[:min(len(p), hintBytes-len(w.b))]...)
	return len(p), nil
}

// profile checks that the compute is fit for a session after what the script
// did to it.
func (a *attempt) profile(ctx context.Context) error {
	const check = `cd /workspace && test -d "$HOME" && t=.sallyport-check.$$ && head -c 4096 /dev/zero >"$t" && rm -- "$t"`
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	r, err := a.command(ctx, nil, "sh", "-c", check)
	if err != nil {
		return failed(FailCheck, err, "The compute doesn't answer any more after the script.")
	}
	if r.exit.Code != 0 {
		return failed(FailCheck, errors.New(r.stderr), "The compute isn't usable after the script: %s", r.stderr)
	}
	return nil
}
