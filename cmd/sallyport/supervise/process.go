package supervise

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// once runs the program until it ends by itself, which is an error, or until
// ctx is done and it has been ended.
func (k *keeper) once(ctx context.Context) error {
	cmd, err := k.p.Command()
	if err != nil {
		return &fatalError{err}
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return &fatalError{err}
	}
	// A signal from the terminal is for us; the programs end in our order. Should
	// we be killed, the kernel asks them to stop.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	first, ended := make(chan string, 1), make(chan error, 1)
	started := make(chan error, 1)
	go func() {
		// The parent whose death Pdeathsig is about is the thread, prctl(2).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		out := bufio.NewReader(stdout)
		if line, err := out.ReadString('\n'); err == nil {
			first <- strings.TrimSpace(line)
		}
		_, _ = io.Copy(io.Discard, out) // Wait closes the pipe, so it comes after
		ended <- cmd.Wait()
	}()
	if err := <-started; err != nil {
		return &fatalError{fmt.Errorf("start: %w", err)}
	}
	return k.watch(ctx, cmd, first, ended)
}

// watch waits for the first line, then for the end.
func (k *keeper) watch(ctx context.Context, cmd *exec.Cmd, first <-chan string, ended <-chan error) error {
	late := time.NewTimer(k.o.StartWithin)
	defer late.Stop()
	select {
	case line := <-first:
		if err := k.p.Ready(line); err != nil {
			return errors.Join(&fatalError{err}, k.end(cmd, ended))
		}
		select {
		case <-k.up:
		default:
			close(k.up)
		}
	case err := <-ended:
		return fmt.Errorf("ended before it was ready: %w", unexpected(err))
	case <-late.C:
		return errors.Join(fmt.Errorf("not ready after %v", k.o.StartWithin), k.end(cmd, ended))
	case <-ctx.Done():
		return k.end(cmd, ended)
	}
	select {
	case err := <-ended:
		return unexpected(err)
	case <-ctx.Done():
		return k.end(cmd, ended)
	}
}

// unexpected is the end of a program that was to go on.
func unexpected(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// end asks the program to end, and kills it when it doesn't.
func (k *keeper) end(cmd *exec.Cmd, ended <-chan error) error {
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", k.p.Name, err)
	}
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("stop %s: %w", k.p.Name, err)
		}
		return nil
	case <-time.After(k.o.StopWithin):
		err := cmd.Process.Kill()
		return errors.Join(fmt.Errorf("stop %s: killed, for it still ran after %v", k.p.Name, k.o.StopWithin), err, <-ended)
	}
}
