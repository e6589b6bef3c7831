package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

// Exec starts a command. ctx bounds only the start, not the command. A command
// that doesn't exist or can't run is no error: it ends at once, with a code of
// 127 or 126 and a Reason.
func (sb *Sandbox) Exec(ctx context.Context, e Exec) (*Process, error) {
	x, err := sb.request(e)
	if err != nil {
		return nil, fmt.Errorf("exec: %w", err)
	}
	body, err := memoryFile(x.Append(nil))
	if err != nil {
		return nil, fmt.Errorf("exec: %w", err)
	}
	defer func() { _ = body.Close() }()
	p := newProcess(sb, e)
	handed := []*os.File{body}
	if !e.TTY {
		if err := p.streams.open(e); err != nil {
			return nil, fmt.Errorf("exec: %w", err)
		}
		handed = append(handed, p.streams.theirs[:]...)
	}
	err = sb.add(p)
	if err == nil {
		err = sb.send(wire.Message{Kind: wire.KindExec, ID: p.id}, handed...)
	}
	p.streams.closeTheirs()
	if err != nil {
		sb.forget(p.id)
		p.streams.abort()
		return nil, fmt.Errorf("exec: %w", err)
	}
	select {
	case <-p.begun:
		return p, nil
	case <-sb.done:
		return nil, fmt.Errorf("exec: %w", ErrStopped)
	case <-ctx.Done():
		p.killWhenBegun()
		return nil, fmt.Errorf("exec: %w", ctx.Err())
	}
}

// request checks e and puts in what it leaves out.
func (sb *Sandbox) request(e Exec) (*wire.Exec, error) {
	if len(e.Argv) == 0 {
		return nil, errors.New("a command is required")
	}
	for _, s := range append(append([]string{e.Dir}, e.Argv...), e.Env...) {
		if strings.IndexByte(s, 0) >= 0 {
			return nil, errors.New("a NUL in the command, its directory or its environment")
		}
	}
	x := &wire.Exec{Argv: e.Argv, Env: e.Env, Dir: path.Join(workspace, e.Dir), TTY: e.TTY, Rows: e.Rows, Cols: e.Cols}
	if path.IsAbs(e.Dir) {
		x.Dir = path.Clean(e.Dir)
	}
	switch e.User {
	case "", "user":
		x.ID = userID
	case "root":
		if sb.ids.oneID {
			return nil, errors.New("root of the sandbox needs a range of ids for you in /etc/subuid and /etc/subgid, and newuidmap")
		}
		x.ID = rootID
	default:
		return nil, fmt.Errorf("unknown user %q", e.User)
	}
	return x, nil
}

// add gives p an id by which replies are told apart.
func (sb *Sandbox) add(p *Process) error {
	sb.processesMu.Lock()
	defer sb.processesMu.Unlock()
	if sb.processes == nil {
		return ErrStopped
	}
	sb.lastID++
	p.id = sb.lastID
	p.since = time.Now()
	p.outOfMemory = sb.cgroup.outOfMemory()
	sb.processes[p.id] = p
	return nil
}
