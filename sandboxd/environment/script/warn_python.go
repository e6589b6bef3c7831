package script

import (
	"path"
	"regexp"
	"slices"
)

var (
	systemPython = regexp.MustCompile(`^(python|pip)(3(\.[0-9]+)?)?$`)
	systemDirs   = []string{"/bin", "/usr/bin", "/usr/local/bin"}
	// harmless are first arguments with which nothing is installed or run.
	harmless = []string{"-V", "-VV", "--version", "-h", "--help"}
	// makers are modules that make a virtual environment.
	makers = []string{"venv", "virtualenv"}
)

// python is about commands that run the system's Python.
func (l *linter) python(c call) {
	const message = "uses the system's Python; make /workspace/.venv (python3 -m venv, or uv venv) and call its bin/python and bin/pip"
	if c.name == "uv" {
		if len(c.args) > 1 && c.args[0].text == "pip" && slices.ContainsFunc(c.args, func(w word) bool { return w.text == "--system" }) {
			l.warn(AmbiguousSystemPython, c.line, message)
		}
		return
	}
	if !systemPython.MatchString(c.name) {
		return
	}
	byName := c.path == c.name
	switch {
	case !byName && !slices.Contains(systemDirs, path.Dir(c.path)),
		byName && !c.sudo && l.activated(),
		len(c.args) > 0 && slices.Contains(harmless, c.args[0].text),
		makesEnvironment(c.args):
		return
	}
	l.warn(AmbiguousSystemPython, c.line, message)
}

func makesEnvironment(args []word) bool {
	i := slices.IndexFunc(args, func(w word) bool { return w.text == "-m" })
	return i >= 0 && i+1 < len(args) && slices.Contains(makers, args[i+1].text)
}
