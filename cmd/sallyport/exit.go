package main

import "fmt"

// Exit codes of every subcommand. Commands that run another one (run, session
// exec) return the code of that instead.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitNo     = 3 // the command worked and the answer is "no"
)

// exitError is an error of a command together with the exit code that it
// means. A nil err prints nothing: the command has already said all there is.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// usageErrorf reports a mistake on the command line that only the command
// itself can see; flags and argument counts are checked by the root.
func usageErrorf(format string, args ...any) error {
	return exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}
