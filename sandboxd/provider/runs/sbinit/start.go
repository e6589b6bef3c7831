package main

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

// What a shell reports for a command that it can't run.
const (
	codeNotExecutable = 126
	codeNotFound      = 127
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

type started struct {
	pid    int
	master int // of its terminal, or -1
}

type refusal struct {
	code uint32
	text string
}

// start starts the command of a request in a session of its own.
func start(r request) (started, *refusal) {
	if len(r.fds) == 0 {
		return started{}, &refusal{codeNotExecutable, wire.ErrMalformed.Error()}
	}
	b, err := readAll(r.fds[0])
	if err != nil {
		return started{}, &refusal{codeNotExecutable, "read request: " + err.Error()}
	}
	x, err := wire.ParseExec(b)
	if err != nil || len(x.Argv) == 0 || (!x.TTY && len(r.fds) != 4) {
		return started{}, &refusal{codeNotExecutable, wire.ErrMalformed.Error()}
	}
	attr := &syscall.ProcAttr{Dir: x.Dir, Env: x.Env, Sys: &syscall.SysProcAttr{Setsid: true}}
	if int(x.ID) != os.Getuid() {
		attr.Sys.Credential = &syscall.Credential{Uid: x.ID, Gid: x.ID}
	}
	master := -1
	if x.TTY {
		m, s, err := openTerminal(x)
		if err != nil {
			return started{}, &refusal{codeNotExecutable, "open terminal: " + err.Error()}
		}
		defer func() { _ = unix.Close(s) }()
		master = m
		attr.Files = []uintptr{uintptr(s), uintptr(s), uintptr(s)}
		attr.Sys.Setctty = true
	} else {
		attr.Files = []uintptr{uintptr(r.fds[1]), uintptr(r.fds[2]), uintptr(r.fds[3])}
	}
	pid, refused := startAny(candidates(x), x, attr)
	if refused != nil {
		if master >= 0 {
			_ = unix.Close(master)
		}
		return started{}, refused
	}
	return started{pid: pid, master: master}, nil
}

// startAny starts the first candidate that can be, as execvp(3) does.
func startAny(paths []string, x *wire.Exec, attr *syscall.ProcAttr) (int, *refusal) {
	var st unix.Stat_t
	if err := unix.Stat(x.Dir, &st); err != nil {
		return 0, &refusal{codeNotExecutable, "change to " + x.Dir + ": " + err.Error()}
	}
	found := &refusal{codeNotFound, x.Argv[0] + ": command not found"}
	for _, p := range paths {
		if err := unix.Stat(p, &st); err != nil {
			continue
		}
		pid, err := syscall.ForkExec(p, x.Argv, attr)
		if err == unix.ENOEXEC { // a script that doesn't name its interpreter
			pid, err = syscall.ForkExec("/bin/sh", append([]string{"sh", p}, x.Argv[1:]...), attr)
		}
		if err == nil {
			return pid, nil
		}
		if found.code == codeNotFound {
			found = &refusal{codeNotExecutable, p + ": " + err.Error()}
		}
	}
	return 0, found
}

func candidates(x *wire.Exec) []string {
	name := x.Argv[0]
	if strings.Contains(name, "/") {
		if name[0] != '/' {
			name = x.Dir + "/" + name
		}
		return []string{name}
	}
	if name == "" {
		return nil
	}
	path := defaultPath
	for _, v := range x.Env {
		if after, ok := strings.CutPrefix(v, "PATH="); ok {
			path = after
		}
	}
	var all []string
	for dir := range strings.SplitSeq(path, ":") {
		if dir == "" || dir[0] != '/' {
			dir = x.Dir + "/" + dir
		}
		all = append(all, dir+"/"+name)
	}
	return all
}
