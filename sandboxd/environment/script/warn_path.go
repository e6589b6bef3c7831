package script

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assignments is about a PATH that is replaced, and one that selects a virtual
// environment. An assignment in front of a command is for that command alone.
func (l *linter) assignments(list []*syntax.Assign) {
	const message = "replaces PATH, so the tools of the image and of /workspace/.venv are no longer found; extend it: PATH=\"/new/folder:$PATH\""
	for _, a := range list {
		if a.Name == nil || a.Name.Value != "PATH" || a.Naked && a.Value == nil {
			continue
		}
		value := wordOf(a.Value)
		if strings.Contains(value.text, "venv/bin") {
			l.activate()
		}
		if !a.Append && !keepsPath(a.Value) {
			l.warn(PathClobber, line(a.Pos()), message)
		}
	}
}

// keepsPath reports whether a value has the old one in it, or can have: another
// variable may hold it.
func keepsPath(value *syntax.Word) bool {
	if value == nil {
		return false
	}
	if text := wordOf(value).text; text == expanded {
		if p := parameter(value); p != nil {
			return true
		}
	}
	found := false
	syntax.Walk(value, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil && strings.HasSuffix(strings.ToUpper(p.Param.Value), "PATH") {
			found = true
		}
		return !found
	})
	return found
}

// parameter returns the expansion that a word consists of, or nil.
func parameter(w *syntax.Word) *syntax.ParamExp {
	parts := w.Parts
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok {
			parts = q.Parts
		}
	}
	if len(parts) != 1 {
		return nil
	}
	p, _ := parts[0].(*syntax.ParamExp)
	return p
}

// unset is about a PATH that is taken away.
func (l *linter) unset(c call) {
	if c.name == "unset" && slices.ContainsFunc(c.args, func(w word) bool { return w.text == "PATH" }) &&
		!slices.ContainsFunc(c.args, func(w word) bool { return w.text == "-f" }) {
		l.warn(PathClobber, c.line, "takes PATH away, so no command is found by its name any more")
	}
}
