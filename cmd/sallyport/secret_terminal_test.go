package main

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// echoes reports whether a terminal shows what is typed.
func echoes(t *testing.T, fd int) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// The value typed at a terminal is stored and never echoed.
func TestSecretSetAtATerminal(t *testing.T) {
	t.Parallel()
	keyboard, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer keyboard.Close()
	defer tty.Close()
	if _, err := keyboard.WriteString("c4nary-typed\n"); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	code := run(t.Context(), []string{"secret", "set", "typed", "--state", t.TempDir()}, tty, &stdout, &stderr)
	if code != exitDone || stdout.String() != "typed: version 1\n" || !strings.Contains(stderr.String(), "Value of typed (not shown)") {
		t.Errorf("exit code %d, %q, %q", code, stdout.String(), stderr.String())
	}
	if !echoes(t, int(tty.Fd())) {
		t.Error("the terminal was left without echo")
	}
}

func TestInterruptedPromptRestoresTheEcho(t *testing.T) {
	t.Parallel()
	keyboard, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := readHidden(ctx, int(tty.Fd()))
		failed <- err
	}()
	for echoes(t, int(tty.Fd())) { // until the prompt waits
		runtime.Gosched()
	}
	interrupt()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if !echoes(t, int(tty.Fd())) {
		t.Error("the terminal was left without echo")
	}
	keyboard.Close() // ends the read that is still waiting
}
