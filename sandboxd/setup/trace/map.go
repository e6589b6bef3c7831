package trace

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Map knows the lines of a script. It is immutable and safe for concurrent use.
type Map struct {
	lines    []string
	commands []command // in the order in which they begin
}

// command is a part of the script that Bash reports as one.
type command struct {
	first, last int    // its lines
	word        string // the first of a simple command, as in Mark.Word
	source      string // all of it, of which as much is left
	simple      bool
}

// NewMap reads a script. One that can't be parsed has commands of one line each:
// what Bash says of it is what counts.
func NewMap(script string) *Map {
	m := &Map{lines: strings.Split(strings.TrimSuffix(script, "\n"), "\n")}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return m
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		c := command{}
		switch n := node.(type) {
		case *syntax.CallExpr:
			c.simple = true
			switch {
			case len(n.Assigns) > 0 && n.Assigns[0].Name != nil:
				c.word = n.Assigns[0].Name.Value
			case len(n.Args) > 0:
				c.word = word(slice(script, n.Args[0]))
			}
		case *syntax.DeclClause, *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause,
			*syntax.ForClause, *syntax.CaseClause, *syntax.WhileClause, *syntax.IfClause:
		default:
			return true
		}
		c.first, c.last = int(node.Pos().Line()), int(node.End().Line()) //nolint:gosec // lines of 64 KiB
		c.source = word(slice(script, node))
		m.commands = append(m.commands, c)
		return true
	})
	return m
}

func slice(script string, n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset()) //nolint:gosec // offsets in 64 KiB
	if from > to || to > len(script) {
		return ""
	}
	return script[from:to]
}

// word returns what is left of text in a Mark.Word.
func word(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./-", r)) {
			return r
		}
		return -1
	}, text)
}

// at returns the smallest command that has a line; a line that none has is a
// command by itself.
func (m *Map) at(line int) command {
	found := command{first: line, last: line, source: word(m.Text(line))}
	size := -1
	for _, c := range m.commands {
		if c.first <= line && line <= c.last && (size < 0 || c.last-c.first < size) {
			found, size = c, c.last-c.first
		}
	}
	return found
}

// First returns the line on which the command begins that Bash reports at line:
// of a command of several lines it may report any.
func (m *Map) First(line int) int { return m.at(line).first }

// has says whether a command with a first word can be the one that Bash reports
// at a line. It isn't one of a handler's, or of text that was evaluated.
func (m *Map) has(line int, first string) bool {
	if len(m.commands) == 0 {
		return true
	}
	for _, c := range m.commands {
		if c.first <= line && line <= c.last && strings.Contains(c.source, first) {
			return true
		}
	}
	return false
}

// inside returns the line of the first simple command within outer, from a line
// on, that has a first word; 0 if there is none. Bash counts the lines of a
// command substitution of several lines from where the command ends.
func (m *Map) inside(outer command, from int, first string) int {
	for _, c := range m.commands {
		if c.simple && c.word == first && c.first >= from && outer.first <= c.first && c.last <= outer.last && c != outer {
			return c.first
		}
	}
	return 0
}

// Text returns a line as it is written, without the blanks around it; empty for
// one that isn't there.
func (m *Map) Text(line int) string {
	if line < 1 || line > len(m.lines) {
		return ""
	}
	return strings.TrimSpace(m.lines[line-1])
}

// single says that what begins on a line ends there.
func (m *Map) single(line int) bool {
	for _, c := range m.commands {
		if c.first == line && c.last > line {
			return false
		}
	}
	return true
}
