package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/cmd/sallyport/supervise"
	"github.com/sallyport/sallyport/edge/config"
)

// The state directory of "up". It belongs to whoever started it; only the
// edge's own directory is the edge's.
const (
	edgeDir     = "edge"     // CA key, secret store, audit log, control socket
	sandboxdDir = "sandboxd" // store, logs, images
	lockName    = "up.lock"
)

// takeState makes the state directory and takes it for this process.
func takeState(dir string) (unlock func(), err error) {
	// The edge's user has to get through to its own directory.
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, fmt.Errorf("make state directory: %w", err)
	}
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("take state directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder := make([]byte, 32)
		n, _ := f.Read(holder)
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("\"sallyport up\" runs with the state %s already (process %s); stop it, or use another --state", dir, holder[:n])
		}
		return nil, fmt.Errorf("take state directory: %w", err)
	}
	if err := errors.Join(f.Truncate(0), writeAt(f, fmt.Sprint(os.Getpid()))); err != nil {
		f.Close()
		return nil, fmt.Errorf("take state directory: %w", err)
	}
	return func() { f.Close() }, nil
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// writePrivate writes a file that only its owner can read, whole or not at
// all.
func writePrivate(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}

func (u *upRun) controlSocket() string { return filepath.Join(u.dir, edgeDir, "control") }

// edge is the edge as "up" runs it: it has no boundaries but those that
// sandboxd opens, and no listeners but those in their sandboxes.
func (u *upRun) edge() (supervise.Program, error) {
	program, err := findProgram("edge")
	if err != nil {
		return supervise.Program{}, err
	}
	state := filepath.Join(u.dir, edgeDir)
	doc := config.Document{State: state, Listen: config.DocumentListen{Control: u.controlSocket()}}
	file := filepath.Join(u.dir, "edge.json")
	if err := writeConfig(file, doc); err != nil {
		return supervise.Program{}, err
	}
	args := append([]string{"serve", "--config", file, "--until-stdin-closes"}, u.levelFlag()...)
	if uid := edgeUID(state); uid > 0 {
		args = append(args, "--user", fmt.Sprintf("%d:%d", uid, uid))
	}
	return supervise.Program{
		Name: "edge",
		Command: func() (*exec.Cmd, error) {
			cmd := exec.Command(program, args...)
			cmd.Env, cmd.Stderr = edgeEnvironment(), u.log
			_, err := cmd.StdinPipe() // which ends with this process
			return cmd, err
		},
		Ready: func(string) error { return nil },
	}, nil
}

// edgeUID is whom an edge started by root becomes: the owner of its state, so
// that it can read that again, or for a new state somebody whom no account is.
func edgeUID(state string) int {
	if st, err := os.Lstat(state); err == nil && os.Geteuid() == 0 {
		return int(st.Sys().(*syscall.Stat_t).Uid)
	}
	return unprivilegedUID()
}

// sandboxdConfig is what "sandboxd serve" reads.
type sandboxdConfig struct {
	State  string       `json:"state"`
	Listen string       `json:"listen"`
	Edge   sandboxdEdge `json:"edge"`
}

type sandboxdEdge struct {
	Control string `json:"control"`
}

// sandboxd is the service as "up" runs it.
func (u *upRun) sandboxd() (supervise.Program, error) {
	program, err := findProgram("sandboxd")
	if err != nil {
		return supervise.Program{}, err
	}
	file := filepath.Join(u.dir, "sandboxd.json")
	args := append([]string{"serve", "--config", file, "--admin-key-file", filepath.Join(u.dir, keyFile)}, u.levelFlag()...)
	return supervise.Program{
		Name: "sandboxd",
		Command: func() (*exec.Cmd, error) {
			cmd := exec.Command(program, args...)
			cmd.Stderr = u.log
			return cmd, writeConfig(file, sandboxdConfig{
				State: filepath.Join(u.dir, sandboxdDir), Listen: u.listen, Edge: sandboxdEdge{u.controlSocket()},
			})
		},
		Ready: u.apiReady,
	}, nil
}

func writeConfig(file string, doc any) error {
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return writePrivate(file, append(data, '\n'))
}
