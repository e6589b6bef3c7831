package script

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

var (
	shells    = []string{"sh", "bash", "dash", "zsh", "ksh", "ash"}
	downloads = []string{"curl", "wget", "fetch", "aria2c"}
)

const pipeMessage = "runs a download without looking at it; download to a file, check it against a known sha256, then run it"

// A shellCall is how a shell was started.
type shellCall struct {
	login   bool
	code    *word // of -c
	operand *word // the script's name
	stdin   bool  // it reads its commands from standard input
}

func readShell(c call) (shellCall, bool) {
	if !slices.Contains(shells, c.name) {
		return shellCall{}, false
	}
	var s shellCall
	wantsCode := false
	for i := 0; i < len(c.args); i++ {
		text := c.args[i].text
		switch {
		case text == "--login":
			s.login = true
		case text == "--rcfile", text == "--init-file":
			i++
		case text == "--", text == "-":
			i++
			s.finish(c.args[min(i, len(c.args)):], wantsCode)
			return s, true
		case strings.HasPrefix(text, "--"):
		case len(text) > 1 && (text[0] == '-' || text[0] == '+'):
			s.login = s.login || strings.Contains(text, "l")
			wantsCode = wantsCode || strings.Contains(text, "c")
			s.stdin = s.stdin || strings.Contains(text, "s")
			if strings.ContainsAny(text, "oO") {
				i++
			}
		default:
			s.finish(c.args[i:], wantsCode)
			return s, true
		}
	}
	s.finish(nil, wantsCode)
	return s, true
}

func (s *shellCall) finish(operands []word, wantsCode bool) {
	switch {
	case len(operands) == 0:
		s.stdin = s.stdin || !wantsCode
	case wantsCode:
		s.code, s.stdin = &operands[0], false
	case !s.stdin:
		s.operand, s.stdin = &operands[0], operands[0].text == "/dev/stdin"
	}
}

// shell is about commands that run a script in an argument.
func (l *linter) shell(c call) {
	if s, ok := readShell(c); ok {
		if s.login && s.code != nil {
			l.warn(BashLCWrapper, c.line, "wraps a command in a login shell, which the script already is; write the command directly")
		}
		if s.code != nil {
			l.code(c, *s.code)
		}
		if s.operand != nil && downloadsIn(s.operand.node) {
			l.warn(CurlPipeSh, c.line, pipeMessage)
		}
		return
	}
	switch c.name {
	case "eval":
		if len(c.args) == 1 {
			l.code(c, c.args[0])
		}
	case "su":
		for i, a := range c.args[:max(0, len(c.args)-1)] {
			if a.text == "-c" || a.text == "--command" {
				l.code(c, c.args[i+1])
			}
		}
	case "source", ".":
		if len(c.args) > 0 && downloadsIn(c.args[0].node) {
			l.warn(CurlPipeSh, c.line, pipeMessage)
		}
	}
}

// code looks at an argument that is a script.
func (l *linter) code(c call, w word) {
	if !w.known() && downloadsIn(w.node) {
		l.warn(CurlPipeSh, c.line, pipeMessage)
	}
	l.nested(w)
}

// pipe is about downloads that flow into a shell. It goes once through a
// pipeline, from the left, however long that is.
func (l *linter) pipe(b *syntax.BinaryCmd) {
	if n := len(l.above); n > 2 && pipes(l.above[n-3]) && l.above[n-3].(*syntax.BinaryCmd).X == l.above[n-2] {
		return // the left part of a pipeline that was looked at
	}
	downloaded := false
	for _, stage := range stages(b) {
		if downloaded && anyCall(stage, readsCommands) {
			l.warn(CurlPipeSh, line(b.Pos()), pipeMessage)
			return
		}
		downloaded = downloaded || downloadsIn(stage)
	}
}

func pipes(n syntax.Node) bool {
	b, ok := n.(*syntax.BinaryCmd)
	return ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll)
}

// stages returns the parts of a pipeline, which nests to the left.
func stages(b *syntax.BinaryCmd) []*syntax.Stmt {
	right := []*syntax.Stmt{b.Y}
	left := b.X
	for pipes(left.Cmd) {
		inner, _ := left.Cmd.(*syntax.BinaryCmd)
		right = append(right, inner.Y)
		left = inner.X
	}
	right = append(right, left)
	slices.Reverse(right)
	return right
}

// redirections is about shells whose standard input is a download.
func (l *linter) redirections(s *syntax.Stmt) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok {
		return
	}
	c, ok := callOf(call)
	if !ok || !readsCommands(c) {
		return
	}
	for _, r := range s.Redirs {
		if (r.Op == syntax.WordHdoc || r.Op == syntax.RdrIn) && downloadsIn(r.Word) {
			l.warn(CurlPipeSh, c.line, pipeMessage)
		}
	}
}

func readsCommands(c call) bool {
	s, ok := readShell(c)
	return ok && s.stdin
}

// downloadsIn reports whether a download runs somewhere in n.
func downloadsIn(n syntax.Node) bool {
	return anyCall(n, func(c call) bool { return slices.Contains(downloads, c.name) })
}

func anyCall(n syntax.Node, is func(call) bool) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		if expr, ok := n.(*syntax.CallExpr); ok && !found {
			c, known := callOf(expr)
			found = known && is(c)
		}
		return !found
	})
	return found
}
