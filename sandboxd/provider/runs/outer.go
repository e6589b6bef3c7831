package runs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// mappedEnv tells a program that it was started by EnterUserNamespace, and by
// which descriptor it learns that its ids are mapped.
const mappedEnv = "SALLYPORT_MAPPED_FD"

// EnterUserNamespace makes the rest of the program run where it may make
// sandboxes. Call it first thing in main, before anything was opened.
//
// For root it does nothing and returns done false. For an ordinary user it
// runs this program again, with the same arguments, as root of a user
// namespace of its own (the network stays the host's), waits for it, and
// returns done true with its exit code: the caller exits with that. In the
// program that it started it waits for the namespace to be complete and returns
// done false.
func EnterUserNamespace() (done bool, code int, err error) {
	if fd := os.Getenv(mappedEnv); fd != "" {
		return false, 0, awaitMappings(fd)
	}
	if privileged() == nil {
		return false, 0, nil
	}
	code, err = runMapped()
	if err != nil {
		err = fmt.Errorf("enter user namespace: %w", err)
	}
	return true, code, err
}

// awaitMappings waits for the ids of this program's user namespace. Without
// them it is nobody there; with them it is root.
func awaitMappings(fd string) error {
	var n int
	if _, err := fmt.Sscan(fd, &n); err != nil {
		return fmt.Errorf("parse %s: %w", mappedEnv, err)
	}
	if err := os.Unsetenv(mappedEnv); err != nil {
		return err
	}
	f := os.NewFile(uintptr(n), "mapped")
	defer func() { _ = f.Close() }()
	if _, err := io.ReadFull(f, make([]byte, 1)); err != nil {
		return fmt.Errorf("wait for ids: %w", err)
	}
	if err := privileged(); err != nil {
		return fmt.Errorf("user namespaces are restricted here (by AppArmor, or kernel.apparmor_restrict_unprivileged_userns): %w", err)
	}
	return nil
}

// runMapped runs this program in a user namespace and returns its exit code.
func runMapped() (int, error) {
	// The child dies with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer func() { _ = w.Close() }()
	c := exec.Command("/proc/self/exe", os.Args[1:]...)
	c.Args[0] = os.Args[0]
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.ExtraFiles = []*os.File{r}
	c.Env = append(os.Environ(), mappedEnv+"=3")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	for b := uintptr(0); b <= unix.CAP_LAST_CAP; b++ {
		// Nobody has an id yet; only ambient capabilities survive exec.
		c.SysProcAttr.AmbientCaps = append(c.SysProcAttr.AmbientCaps, b)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2)
	defer signal.Stop(signals)
	err = c.Start()
	_ = r.Close()
	if err != nil {
		return 0, fmt.Errorf("%w (see user.max_user_namespaces and, where it exists, kernel.unprivileged_userns_clone; or run as root)", err)
	}
	if err := mapIDs(c.Process.Pid); err != nil {
		_ = c.Process.Kill()
		return 0, errors.Join(err, ignoreExit(c.Wait()))
	}
	if _, err := w.Write([]byte{1}); err != nil {
		_ = c.Process.Kill()
		return 0, errors.Join(err, ignoreExit(c.Wait()))
	}
	stop := forward(signals, c.Process)
	err = ignoreExit(c.Wait())
	stop()
	return exitCode(c.ProcessState), err
}

// forward passes signals on, but for those of a terminal, which it has sent to
// the child already.
func forward(signals <-chan os.Signal, p *os.Process) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case s := <-signals:
				if s != unix.SIGINT && s != unix.SIGQUIT {
					_ = p.Signal(s)
				}
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

func exitCode(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}
