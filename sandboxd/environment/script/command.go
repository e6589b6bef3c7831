package script

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Command is a simple command of a script.
type Command struct {
	Line int // one-based, where it begins
	End  int // the last line that belongs to it, its heredocs included
	// Function is the function that it stands in, or empty: such a command
	// runs wherever the function is called.
	Function string

	last int // the last line of the command itself
}

// Commands returns the simple commands in the order in which they stand. The
// caller must not change the slice.
func (s *Source) Commands() []Command { return s.commands }

// At returns the innermost command that a line belongs to, be it the first, a
// continued one or one of a heredoc. It is false for lines between commands,
// and for those after the first statement that doesn't parse.
func (s *Source) At(line int) (Command, bool) {
	var found Command
	for _, c := range s.commands {
		// Later ones begin further inside.
		if c.Line <= line && line <= c.End && c.Line >= found.Line {
			found = c
		}
	}
	return found, found.Line > 0
}

// Text returns what stands on a line, before any expansion and without white
// space around it: the whole command where it goes on over several lines, but
// not its heredocs. It is empty for a line that isn't there.
func (s *Source) Text(line int) string {
	if line < 1 || line > len(s.lines) {
		return ""
	}
	first, last := line, line
	if c, ok := s.At(line); ok {
		first, last = c.Line, min(c.last, len(s.lines))
	}
	return strings.TrimSpace(strings.Join(s.lines[first-1:last], "\n"))
}

// collect finds the simple commands of statements.
func collect(stmts []*syntax.Stmt) []Command {
	var (
		found     []Command
		above     []syntax.Node
		functions []string
	)
	for _, stmt := range stmts {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if n == nil {
				if _, ok := above[len(above)-1].(*syntax.FuncDecl); ok {
					functions = functions[:len(functions)-1]
				}
				above = above[:len(above)-1]
				return true
			}
			above = append(above, n)
			switch n := n.(type) {
			case *syntax.FuncDecl:
				functions = append(functions, functionName(n))
			case *syntax.Stmt:
				if simple(n.Cmd) {
					c := commandOf(n)
					if len(functions) > 0 {
						c.Function = functions[len(functions)-1]
					}
					found = append(found, c)
				}
			}
			return true
		})
	}
	return found
}

func functionName(f *syntax.FuncDecl) string {
	if f.Name == nil {
		return ""
	}
	return f.Name.Value
}

// simple reports whether a command has no commands inside but those of
// substitutions. A statement of nothing but redirections is one.
func simple(c syntax.Command) bool {
	switch c.(type) {
	case nil, *syntax.CallExpr, *syntax.DeclClause, *syntax.LetClause, *syntax.ArithmCmd, *syntax.TestClause:
		return true
	}
	return false
}

func commandOf(s *syntax.Stmt) Command {
	c := Command{Line: line(s.Pos())}
	c.last = c.Line
	if s.Cmd != nil {
		c.last = max(c.last, line(s.Cmd.End()))
	}
	for _, r := range s.Redirs {
		c.last = max(c.last, line(r.Word.End()))
	}
	c.End = c.last
	for _, r := range s.Redirs {
		if r.Hdoc != nil {
			c.End = max(c.End, line(r.Hdoc.End()))
		}
	}
	return c
}

func line(p syntax.Pos) int { return int(p.Line()) } //nolint:gosec // at most one for each byte of a script
