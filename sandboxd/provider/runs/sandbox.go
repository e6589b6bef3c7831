package runs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider"
	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

// ErrStopped is returned for a sandbox that has ended.
var ErrStopped = provider.ErrStopped

// Sandbox is a running sandbox. It is safe for concurrent use.
type Sandbox struct {
	id          string
	provider    *Provider
	ids         *ids
	dir         *sandboxDir
	layers      []string // keys of those in use
	placed      []string // paths of what isn't the sandbox's own
	written     *Written // nil until Capture
	hierarchies hierarchies
	cgroupName  string
	cgroup      *cgroup
	init        *exec.Cmd
	conn        *net.UnixConn
	stderr      lastWords // complete when done is closed

	ready    chan wire.Message // the answer to the set-up
	answered bool              // it has come; only read looks at this
	done     chan struct{}     // closed when the init has ended and been waited for

	processesMu sync.Mutex
	processes   map[uint32]*Process // those that run
	lastID      uint32

	stopMu  sync.Mutex
	stopped bool
}

func newSandbox(p *Provider, id string) *Sandbox {
	return &Sandbox{id: id, provider: p, cgroupName: p.cgroupName(id),
		ready: make(chan wire.Message, 1), done: make(chan struct{}), processes: make(map[uint32]*Process)}
}

// ID returns the id that the sandbox was started with.
func (sb *Sandbox) ID() string { return sb.id }

// Done is closed when the sandbox has ended, whatever the reason.
func (sb *Sandbox) Done() <-chan struct{} { return sb.done }

// started takes over the running init: reads what it says and waits for it.
func (sb *Sandbox) started(c *exec.Cmd) {
	sb.init = c
	read := make(chan struct{})
	go func() {
		defer close(read)
		sb.read()
		// An init that breaks the protocol, or has closed its end, is no use.
		_ = c.Process.Kill()
	}()
	go func() {
		_ = c.Wait() // the exit status of the init says nothing
		<-read       // what it said last still counts
		_ = sb.conn.Close()
		sb.abandon()
		close(sb.done)
	}()
}

// Stop ends every process of the sandbox and removes all that belongs to it.
// Stopping twice is no error; after an error it can be tried again.
func (sb *Sandbox) Stop(ctx context.Context) error {
	sb.stopMu.Lock()
	defer sb.stopMu.Unlock()
	if sb.stopped {
		return nil
	}
	if err := sb.kill(ctx); err != nil {
		return fmt.Errorf("stop sandbox: %w", err)
	}
	var errs []error
	if sb.cgroup != nil {
		if err := sb.hierarchies.removeCgroup(ctx, sb.cgroupName); err != nil {
			return fmt.Errorf("stop sandbox: %w", err)
		}
		errs = append(errs, sb.cgroup.close())
	}
	if sb.written != nil {
		errs = append(errs, sb.written.root.Close())
	}
	if sb.dir != nil {
		errs = append(errs, sb.dir.retire())
	}
	for _, key := range sb.layers {
		errs = append(errs, sb.provider.releaseLayer(key))
	}
	errs = append(errs, sb.ids.release())
	sb.stopped = true
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop sandbox: %w", err)
	}
	return nil
}

// kill kills the init and thereby, because it is process 1 of their namespace,
// all the others; when it has been waited for they are gone too.
func (sb *Sandbox) kill(ctx context.Context) error {
	if sb.init == nil {
		if sb.conn != nil {
			return sb.conn.Close()
		}
		return nil
	}
	if err := sb.init.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-sb.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send sends a message and descriptors to the init.
func (sb *Sandbox) send(m wire.Message, files ...*os.File) error {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	if _, _, err := sb.conn.WriteMsgUnix(m.Append(nil), oob, nil); err != nil {
		select {
		case <-sb.done:
			return ErrStopped
		default:
			return fmt.Errorf("send to init: %w", err)
		}
	}
	return nil
}
