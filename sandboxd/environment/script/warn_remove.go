package script

import (
	"path"
	"slices"
	"strings"
)

// topLevel are the folders of / without which nothing runs.
var topLevel = []string{
	"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/opt", "/proc",
	"/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/var",
}

// remove is about commands that remove files from /.
func (l *linter) remove(c call) {
	const message = "removes files from /; name the folders below /workspace or /tmp that you want to be gone"
	switch c.name {
	case "rm":
		recursive, operands := removal(c.args)
		if slices.ContainsFunc(operands, func(w word) bool { return reachesRoot(w, recursive) }) {
			l.warn(RmRfRoot, c.line, message)
		}
	case "find":
		if len(c.args) > 0 && c.args[0].known() && path.Clean(c.args[0].text) == "/" &&
			slices.ContainsFunc(c.args, func(w word) bool { return w.text == "-delete" || w.text == "rm" }) {
			l.warn(RmRfRoot, c.line, message)
		}
	}
}

func removal(args []word) (recursive bool, operands []word) {
	for i, a := range args {
		switch {
		case a.text == "--":
			return recursive, append(operands, args[i+1:]...)
		case a.text == "--recursive":
			recursive = true
		case strings.HasPrefix(a.text, "--"):
		case len(a.text) > 1 && a.text[0] == '-':
			recursive = recursive || strings.ContainsAny(a.text, "rR")
		default:
			operands = append(operands, a)
		}
	}
	return recursive, operands
}

// reachesRoot reports whether the removal of an operand removes / or much of
// what is directly in it. What an expansion stands for isn't guessed.
func reachesRoot(w word, recursive bool) bool {
	if !strings.HasPrefix(w.bare, "/") || strings.Contains(w.bare, expanded) {
		return false
	}
	clean := path.Clean(w.bare)
	dir, last := path.Split(clean)
	pattern := strings.ContainsAny(last, "*?[{")
	switch {
	case clean == "/":
		return recursive
	case dir == "/" && pattern:
		return true
	case pattern && strings.Trim(last, "*.") == "":
		return recursive && slices.Contains(topLevel, path.Clean(dir))
	}
	return recursive && slices.Contains(topLevel, clean)
}
