package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// systemState is where root keeps what lasts: the CA key and the secret store.
const systemState = "/var/lib/sallyport"

// stateFlag is the value of --state; empty means the default, which is looked
// up when it is asked for and not in a constructor.
type stateFlag string

// addStateFlag gives cmd and its subcommands the flag --state.
func addStateFlag(cmd *cobra.Command) *stateFlag {
	var dir string
	cmd.PersistentFlags().StringVar(&dir, "state", "", "state `DIR` (default "+systemState+" for root,\nelse $XDG_STATE_HOME/sallyport or ~/.local/state/sallyport)")
	_ = cmd.MarkPersistentFlagDirname("state")
	return (*stateFlag)(&dir)
}

// dir returns the state directory as an absolute path. It need not exist.
func (f *stateFlag) dir() (string, error) {
	if *f != "" {
		dir, err := filepath.Abs(string(*f))
		if err != nil {
			return "", fmt.Errorf("find state directory: %w", err)
		}
		return dir, nil
	}
	return defaultState(os.Geteuid(), os.Getenv)
}

// defaultState is the state directory of a user whose environment is getenv
// (XDG Base Directory Specification: a relative XDG_STATE_HOME is ignored).
func defaultState(uid int, getenv func(string) string) (string, error) {
	if uid == 0 {
		return systemState, nil
	}
	if base := getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "sallyport"), nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "sallyport"), nil
	}
	return "", errors.New("find state directory: neither XDG_STATE_HOME nor HOME is an absolute path; use --state DIR")
}
