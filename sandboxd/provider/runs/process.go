package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider"
	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

// ErrLost is what Wait returns for a command whose sandbox ended before it.
var ErrLost = provider.ErrLost

// Process is a command in a sandbox. It is safe for concurrent use.
type Process struct {
	sandbox     *Sandbox
	id          uint32
	tty         bool
	since       time.Time
	outOfMemory int // how many processes the memory limit had killed before
	streams     streams

	begun    chan struct{} // closed when it runs or never will
	finished chan struct{} // closed when exit and err are set and the output is copied
	exit     Exit
	err      error

	killMu  sync.Mutex // guards what follows
	running bool
	doomed  bool // nobody waits for it: kill it as soon as it runs
}

func newProcess(sb *Sandbox, e Exec) *Process {
	p := &Process{sandbox: sb, tty: e.TTY, begun: make(chan struct{}), finished: make(chan struct{})}
	p.streams.stdin, p.streams.stdout = e.Stdin, e.Stdout
	// An ordinary user's sandbox runs as that user, whose pipes it could open
	// for the other direction.
	p.streams.pipes = sb.ids.mounts
	return p
}

// Wait returns how the command ended, once its output has been copied. It can
// be called more than once. A ctx that ends first ends only the waiting.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.finished:
		return p.exit, p.err
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
}

// Signal sends a signal to the command's process group; to one that has ended
// it does nothing.
func (p *Process) Signal(sig os.Signal) error {
	n, ok := sig.(syscall.Signal)
	if !ok || n <= 0 || n > 64 {
		return fmt.Errorf("signal: unknown signal %v", sig)
	}
	err := p.sandbox.send(wire.Message{Kind: wire.KindSignal, ID: p.id, Value: uint32(n)})
	if errors.Is(err, ErrStopped) {
		return nil
	}
	return err
}

// Resize sets the size of the command's terminal.
func (p *Process) Resize(rows, cols uint16) error {
	if !p.tty {
		return errors.New("resize: the command has no terminal")
	}
	<-p.begun
	return p.streams.resize(rows, cols)
}

func (p *Process) killWhenBegun() {
	p.killMu.Lock()
	p.doomed = true
	now := p.running
	p.killMu.Unlock()
	if now {
		_ = p.Signal(unix.SIGKILL)
	}
}

// onStarted and the others are called by the one goroutine that reads replies;
// they say whether the reply was in order.
func (p *Process) onStarted(files []*os.File) bool {
	p.killMu.Lock()
	again, doomed := p.running, p.doomed
	p.running = true
	p.killMu.Unlock()
	if again {
		return false
	}
	if p.tty {
		if len(files) != 1 || !isTerminal(files[0]) {
			return false
		}
		p.streams.attach(files[0])
	} else if len(files) != 0 {
		return false
	}
	close(p.begun)
	if doomed {
		_ = p.Signal(unix.SIGKILL)
	}
	return true
}

func (p *Process) onRefused(m wire.Message) bool {
	if p.running || (m.Value != 126 && m.Value != 127) {
		p.onLost("the init broke the protocol")
		return false
	}
	p.exit = Exit{Code: int(m.Value), Reason: printable(m.Text)}
	close(p.begun)
	go p.finish()
	return true
}

func (p *Process) onExited(status uint32) bool {
	ws := syscall.WaitStatus(status)
	if !p.running || (!ws.Exited() && !ws.Signaled()) {
		p.onLost("the init broke the protocol")
		return false
	}
	p.exit = Exit{Code: ws.ExitStatus(), Duration: time.Since(p.since)}
	if ws.Signaled() {
		p.exit.Code, p.exit.Signal = 128+int(ws.Signal()), ws.Signal()
	}
	if p.exit.Code == 128+int(unix.SIGKILL) {
		p.exit.OOM = p.sandbox.cgroup.outOfMemory() > p.outOfMemory
	}
	go p.finish()
	return true
}

// onLost ends a command whose end nobody will report. If the memory limit took
// the init itself, that is the answer.
func (p *Process) onLost(why string) {
	p.exit.Duration = time.Since(p.since)
	if p.sandbox.cgroup.outOfMemory() > p.outOfMemory {
		p.exit.Code, p.exit.Signal, p.exit.OOM = 128+int(unix.SIGKILL), unix.SIGKILL, true
	} else {
		p.err = ErrLost
		if why != "" {
			p.err = fmt.Errorf("%w: %s", ErrLost, why)
		}
	}
	if !p.running {
		close(p.begun)
	}
	go p.finish()
}

func (p *Process) finish() {
	if err := p.streams.finish(); err != nil && p.err == nil {
		p.err = err
	}
	close(p.finished)
}
