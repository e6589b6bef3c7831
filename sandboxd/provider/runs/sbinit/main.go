// The runtime must keep no descriptor open for itself, because run closes all
// that it didn't ask for: since Go 1.25 it keeps those of its CPU limit.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command sbinit is process 1 of a sandbox. The provider starts it in fresh
// namespaces with one end of a socket pair as descriptor 3. It makes the
// sandbox's root its own, gives up what a sandbox must not have, says that it
// is ready, and then starts commands and reports how they ended. It exits, and
// with it everything in the sandbox, when the other end of the socket closes.
//
// It is small on purpose, because each sandbox starts one and each pays for
// its start: no fmt, no net.
package main

import (
	"math"
	"os"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

const controlFD = 3

func init() {
	// Commands inherit what belongs to a thread: all are started by this one.
	runtime.LockOSThread()
}

func main() { os.Exit(run()) }

func run() int {
	if len(os.Args) == 2 && os.Args[1] == "hold" {
		// Only a user namespace is wanted: keep it until standard input ends.
		_, _ = os.Stdin.Read(make([]byte, 1))
		return 0
	}
	// The provider may itself have inherited descriptors that aren't
	// close-on-exec. A directory of the host among them would be a way out.
	if unix.CloseRange(controlFD+1, math.MaxUint32, 0) != nil {
		return 1
	}
	unix.CloseOnExec(controlFD)
	unix.Umask(0o022)
	c := &control{fd: controlFD}
	// A dead provider is noticed by its socket. Signals from inside, which only
	// root of the sandbox can send, end nothing.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)

	first, ok := c.receive()
	if !ok || first.message.Kind != wire.KindSetup {
		return 1
	}
	if err := setUp(first); err != nil {
		c.send(wire.Message{Kind: wire.KindFailed, Text: err.Error()})
		return 1
	}
	c.send(wire.Message{Kind: wire.KindReady})
	newCommands(c).serve()
	return 0
}

// setUp makes the sandbox that the request describes out of this process.
func setUp(r request) error {
	s, err := parseSetup(r)
	if err != nil {
		return err
	}
	if err := enterRoot(s, r.fds[1:]); err != nil {
		return err
	}
	if err := makeEntries(s.Entries); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(s.Hostname)); err != nil {
		return failed("set host name", err)
	}
	return confine(s)
}

func parseSetup(r request) (*wire.Setup, error) {
	if len(r.fds) < 2 {
		return nil, wire.ErrMalformed
	}
	b, err := readAll(r.fds[0])
	_ = unix.Close(r.fds[0])
	if err != nil {
		return nil, failed("read set-up", err)
	}
	s, err := wire.ParseSetup(b)
	if err != nil {
		return nil, err
	}
	if len(s.Mounts) != len(r.fds)-1 {
		return nil, wire.ErrMalformed
	}
	return s, nil
}

// failure is an error with a step, made without fmt.
type failure struct {
	step string
	err  error
}

func failed(step string, err error) error { return &failure{step, err} }

func (f *failure) Error() string { return f.step + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }
