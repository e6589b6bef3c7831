// Package peer starts what the benchmark compares, each in a process of its own
// whose time can be read: the origin, a blind tunnel, other proxies that
// intercept, and the product's edge.
//
// Every one gets the same origin and the same requests. Squid and mitmproxy are
// the distribution's; the blind tunnel, goproxy and the origin are this program
// started again (see [ServeSelf]).
package peer

import (
	"bufio"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/integration/bench/load"
)

// Secret is what the origin has to see, wherever it comes from.
const Secret = "bench-secret-0123456789abcdef"

// Options say where things are.
type Options struct {
	// Self is the command that ends in ServeSelf.
	Self []string
	// Edge is the product's binary.
	Edge string
	// Pin gives proxies the first processor and leaves the others to the rest.
	Pin bool
}

// World is the origin, and the files that peers need.
type World struct {
	opts  Options
	dir   string
	roots *x509.CertPool // of the origin and of the intercepting peers
	base  load.Target
	stops []func()
}

// New starts the origin.
func New(o Options) (*World, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	w := &World{opts: o, dir: dir, roots: x509.NewCertPool()}
	// Squid reads its files as another user.
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // holds throw-away keys
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := w.begin(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *World) begin() error {
	ca, err := certs.Open(w.path("mitm"))
	if err != nil {
		return err
	}
	w.roots.AddCert(ca.Certificate())
	var origin originReady
	if _, err := w.self(&origin, "origin", w.path("origin.pem")); err != nil {
		return fmt.Errorf("start origin: %w", err)
	}
	if err := w.trust(w.path("origin.pem")); err != nil {
		return err
	}
	w.base = load.Target{
		Roots: w.roots, Origin: origin.Secure, PlainOrigin: origin.Plain,
		Authorization: "Bearer " + Secret, Proof: load.Proof("Bearer " + Secret),
	}
	return nil
}

// Close ends every peer and removes their files.
func (w *World) Close() {
	for i := len(w.stops) - 1; i >= 0; i-- {
		w.stops[i]()
	}
	os.RemoveAll(w.dir)
}

// Direct is the way without a proxy.
func (w *World) Direct() *load.Target {
	t := w.base
	t.Name = "direct"
	return &t
}

func (w *World) path(name ...string) string {
	return filepath.Join(append([]string{w.dir}, name...)...)
}

func (w *World) trust(file string) error {
	pem, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !w.roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s: no certificate", file)
	}
	return nil
}

// target returns that of a proxy which listens on addr.
func (w *World) target(name, addr string, pid int) *load.Target {
	t := w.base
	t.Name, t.Proxy, t.PID = name, addr, pid
	return &t
}

// self starts this program again and decodes its first line into ready.
func (w *World) self(ready any, args ...string) (pid int, err error) {
	return w.start(ready, args[0] != "origin", append(append([]string{}, w.opts.Self...), args...)...)
}

// start starts a command that says on its first line when it is ready and ends
// with its standard input.
func (w *World) start(ready any, proxy bool, args ...string) (int, error) {
	cmd := w.command(proxy, args...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	w.stops = append(w.stops, func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		return 0, fmt.Errorf("%s is not ready: %w", args[0], err)
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return cmd.Process.Pid, json.Unmarshal(line, ready)
}

// command prepares a command on the processor that it is to have.
func (w *World) command(proxy bool, args ...string) *exec.Cmd {
	if w.opts.Pin {
		cpus := fmt.Sprint("1-", runtime.NumCPU()-1)
		if proxy {
			cpus = "0"
		}
		args = append([]string{"taskset", "-c", cpus}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	return cmd
}

// daemon starts a command that can't say when it is ready, and waits until it
// accepts connections on addr.
func (w *World) daemon(addr string, args ...string) (int, error) {
	cmd := w.command(true, args...)
	log, err := os.Create(w.path(filepath.Base(args[0]) + ".log"))
	if err != nil {
		return 0, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	var failed error
	go func() {
		defer close(ended)
		failed = cmd.Wait()
	}()
	w.stops = append(w.stops, func() {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
	})
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return cmd.Process.Pid, nil
		}
		select {
		case <-ended:
			said, _ := os.ReadFile(log.Name())
			return 0, fmt.Errorf("%s ended: %w: %s", args[0], failed, said)
		default:
		}
	}
	return 0, fmt.Errorf("%s does not accept connections", args[0])
}

// freeAddr is an address that nothing listens on yet.
func freeAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}
