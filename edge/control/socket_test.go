package control_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/control"
)

func TestSocketMode(t *testing.T) {
	t.Parallel()
	f := serve(t)
	st, err := os.Stat(f.path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", st.Mode().Perm())
	}
}

// The mode of the socket is opened up here, so that only the check of the
// peer's uid is left to refuse.
func TestOtherUserIsRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	f := serve(t)
	for path, mode := range map[string]os.FileMode{filepath.Dir(f.path): 0o755, f.path: 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	answers := map[int]string{}
	for _, uid := range []int{0, 65534} {
		answers[uid] = asUser(t, uid, func() string { return getHealth(f.path) })
	}
	if !strings.HasPrefix(answers[0], "HTTP/1.1 200") {
		t.Errorf("root got %q", answers[0])
	}
	if answers[65534] != "" {
		t.Errorf("uid 65534 got %q", answers[65534])
	}
}

// asUser runs f on a thread of its own, whose uid is changed and which ends
// with it.
func asUser(t *testing.T, uid int, f func() string) string {
	t.Helper()
	result := make(chan string, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
			result <- "setresuid: " + errno.Error()
			return
		}
		result <- f()
	}()
	return <-result
}

func getHealth(path string) string {
	c, err := net.Dial("unix", path)
	if err != nil {
		return "dial: " + err.Error()
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	// The server may have closed already, which is what this is about.
	_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: edge\r\n\r\n")
	answer, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "neither an answer nor a refusal"
	}
	return string(answer)
}

func TestListenRefusesToTakeOver(t *testing.T) {
	t.Parallel()
	f := serve(t)
	if ln, err := control.Listen(f.path); err == nil {
		ln.Close()
		t.Error("took the socket of a living edge")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("keep me"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ln, err := control.Listen(file); err == nil {
		ln.Close()
		t.Error("replaced a file")
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "keep me" {
		t.Errorf("the file is now %q, %v", data, err)
	}
}

// In such a directory another user could serve a socket of that name first, and
// be sent secrets and listeners.
func TestDirectoryThatEveryoneMayWrite(t *testing.T) {
	t.Parallel()
	f := serve(t)
	if err := os.Chmod(filepath.Dir(f.path), 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if err := f.SetSecret(t.Context(), "token", []byte("value")); err == nil || !strings.Contains(err.Error(), "everyone may write") {
		t.Errorf("the client talks to a socket in it: %v", err)
	}
	if len(f.secrets.Versions()) != 0 {
		t.Error("a secret was sent")
	}
	ln, err := control.Listen(filepath.Join(filepath.Dir(f.path), "other"))
	if err == nil {
		ln.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "everyone may write") {
		t.Errorf("Listen: %v", err)
	}
}

// Of many edges that start on a socket that a dead one left, one gets it and
// keeps it: none removes another's.
func TestOneListenerGetsStaleSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	for range 20 {
		dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		dead.SetUnlinkOnClose(false)
		dead.Close()
		won := make(chan *control.Socket, 8)
		var starting sync.WaitGroup
		for range cap(won) {
			starting.Go(func() {
				if ln, err := control.Listen(path); err == nil {
					won <- ln
				}
			})
		}
		starting.Wait()
		close(won)
		if len(won) != 1 {
			t.Fatalf("%d listeners, want 1", len(won))
		}
		ln := <-won
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatalf("the socket of the one that got it is gone: %v", err)
		}
		c.Close()
		ln.Close()
	}
}

func TestListenReplacesStaleSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	ln, err := control.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
}

func countDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Not parallel: it counts the descriptors of the whole process.
func TestNoDescriptorLeaks(t *testing.T) {
	f := serve(t)
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	ln := listenTCP(t)
	client, server := connectedPair(t)
	defer client.Close()
	defer server.Close()

	use := func() {
		proxy := control.Listener{Kind: control.ListenProxy, Socket: ln}
		if _, err := f.Open(t.Context(), boundary.Spec{ID: "one"}, proxy, proxy); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Open(t.Context(), boundary.Spec{ID: "one"}, proxy); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		refused := map[string][]control.Listener{
			"second is unknown": {proxy, {Kind: "telnet", Socket: ln}},
			"not a socket":      {proxy, {Kind: control.ListenProxy, Socket: file}},
			"not UDP":           {proxy, {Kind: control.ListenDNS, Socket: ln}},
			"not listening":     {proxy, {Kind: control.ListenProxy, Socket: client}},
			"too many":          {proxy, proxy, proxy, proxy, proxy, proxy, proxy, proxy, proxy},
		}
		for name, listeners := range refused {
			if _, err := f.Open(t.Context(), boundary.Spec{ID: "one"}, listeners...); err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
		sendUnasked(t, f.path, file)
	}
	use()
	before := settled(t, 0)
	for range 20 {
		use()
	}
	if after := settled(t, before); after > before {
		t.Errorf("descriptors grew from %d to %d", before, after)
	}
}

// settled waits until the process has no more than want descriptors, or has
// had the same number for a while, and returns how many it has.
func settled(t *testing.T, want int) int {
	t.Helper()
	n, same := countDescriptors(t), 0
	for deadline := time.Now().Add(10 * time.Second); n > want && same < 20 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
		now := countDescriptors(t)
		if now == n {
			same++
		} else {
			same = 0
		}
		n = now
	}
	return n
}

func connectedPair(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	ln := listenTCP(t)
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn), s
}

// sendUnasked sends descriptors with a request that takes none, and with one
// that never becomes a request.
func sendUnasked(t *testing.T, path string, file *os.File) {
	t.Helper()
	for _, text := range []string{"GET /healthz HTTP/1.1\r\nHost: edge\r\n\r\n", "GET /hea"} {
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := file.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		raw.Control(func(fd uintptr) {
			_, _, err = c.WriteMsgUnix([]byte(text), unix.UnixRights(int(fd), int(fd)), nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(text, "\r\n\r\n") {
			c.SetDeadline(time.Now().Add(5 * time.Second))
			if _, err := io.ReadAll(c); err != nil {
				t.Error(err)
			}
		}
		c.Close()
	}
}
