package script

import (
	"path"
	"slices"
	"strings"
)

// activations are files that change the shell that sources them.
var activations = []string{
	"activate", "nvm.sh", "asdf.sh", "sdkman-init.sh", "conda.sh", "mamba.sh", "virtualenvwrapper.sh", "chruby.sh", "rvm", "emsdk_env.sh",
	".bashrc", ".bash_profile", ".bash_aliases", ".profile", ".zshrc", ".zprofile", ".envrc",
}

// activators are commands that change the shell that calls them, each by the
// first of its arguments; nil: by any.
var activators = map[string][]string{
	"conda": {"activate"}, "mamba": {"activate"}, "micromamba": {"activate"},
	"nvm": {"use"}, "fnm": {"use"}, "rvm": {"use"}, "sdk": {"use"},
	"pyenv": {"shell", "activate"}, "rbenv": {"shell"}, "nodenv": {"shell"}, "asdf": {"shell"}, "mise": {"shell"},
	"poetry": {"shell"}, "pipenv": {"shell"}, "module": {"load"},
	"workon": nil, "chruby": nil,
}

// hooks are arguments of programs that print code for eval.
var hooks = []string{"activate", "env", "hook", "init", "shell", "shell.bash", "shellenv"}

// activation is about what the agent's shell won't see.
func (l *linter) activation(c call) {
	what, venv := activates(c)
	if what == "" {
		return
	}
	if venv {
		l.activate()
	}
	if l.inSubshell() {
		return // it is meant for the commands there
	}
	message := what + " doesn't carry over to the agent's shell; call tools by their full path, or install them where PATH already looks"
	if venv {
		message = what + " doesn't carry over to the agent's shell; make the environment at /workspace/.venv, which the agent's commands use by themselves"
	}
	l.warn(NonpersistentShellActivation, c.line, message)
}

// activates says what a call activates, and whether that is a Python.
func activates(c call) (what string, venv bool) {
	if len(c.args) == 0 {
		return "", false
	}
	first := c.args[0]
	switch c.name {
	case "source", ".":
		base := path.Base(first.text)
		switch {
		case base == "activate" || strings.HasPrefix(base, "activate."):
			return "activating " + base, true
		case slices.Contains(activations, base), strings.HasSuffix(first.text, ".cargo/env"):
			return "sourcing " + base, false
		case anyCall(first.node, printsHook):
			return "sourcing a hook", false
		}
	case "eval":
		if slices.ContainsFunc(c.args, func(w word) bool { return anyCall(w.node, printsHook) }) {
			return "what eval activates", false
		}
	}
	by, ok := activators[c.name]
	if !ok || by != nil && !slices.Contains(by, first.text) {
		return "", false
	}
	return c.name, slices.Contains([]string{"conda", "mamba", "micromamba", "pyenv", "workon"}, c.name)
}

// printsHook reports whether a program prints code that sets up a shell.
func printsHook(c call) bool {
	return c.name == "ssh-agent" || !slices.Contains(downloads, c.name) &&
		slices.ContainsFunc(c.args, func(w word) bool { return slices.Contains(hooks, w.text) })
}
