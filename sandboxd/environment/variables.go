package environment

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/certs/variables"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/strict"
)

// Bounds on variables.
const (
	MaxVariables      = 100
	MaxVariablesBytes = 64 << 10 // of all names and values together
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkVariables is ledger EV-19. Names are looked at in their order, so that
// the same definition always gives the same error.
func checkVariables(d Definition, _ Rules) error {
	if n := len(d.EnvVars); n > MaxVariables {
		return fault.Invalid("env_vars", "has %d variables; at most %d are allowed", n, MaxVariables)
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(d.EnvVars)) {
		path := strict.Join("env_vars", strict.Key(name))
		value := d.EnvVars[name]
		size += len(name) + len(value)
		switch {
		case !variableName.MatchString(name):
			return fault.Invalid(path, "is not a variable's name: letters, digits and _, not beginning with a digit")
		case name == "PATH":
			return fault.Invalid(path, "can't be set: the sandbox already selects /workspace/.venv; call tools by their full path, or prepend to $PATH within a command")
		case variables.Reserved(name):
			return fault.Invalid(path, "is set by the service, so that requests pass its proxy; choose another name")
		case strings.ContainsRune(value, 0):
			return fault.Invalid(path, "has a NUL in its value")
		}
	}
	if size > MaxVariablesBytes {
		return fault.Invalid("env_vars", "has %d bytes of names and values; at most %d are allowed", size, MaxVariablesBytes)
	}
	return nil
}

// unsafe are the variables by which a shell or a program runs code of the
// author's choice when it starts (ledger SV-42).
var unsafe = []string{
	"BASHOPTS", "BASH_ENV", "CDPATH", "ENV", "GIT_SSH_COMMAND", "HOME", "IFS", "JAVA_TOOL_OPTIONS",
	"LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD", "NODE_OPTIONS", "NODE_PATH", "PERL5LIB", "PERL5OPT",
	"PROMPT_COMMAND", "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "RUBYLIB", "RUBYOPT", "SHELLOPTS", "ZDOTDIR",
}

// UnsafeVariables returns the names, sorted, of variables that run code when a
// shell or a program starts. A session that must set up by itself is refused
// them, because its setup happens on compute that the session then uses.
func UnsafeVariables(env map[string]string) []string {
	var found []string
	for name := range env {
		if slices.Contains(unsafe, name) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}
