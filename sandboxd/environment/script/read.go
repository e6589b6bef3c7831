package script

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Source is a script that was read. It is immutable and safe for concurrent
// use.
type Source struct {
	lines    []string
	stmts    []*syntax.Stmt
	commands []Command
}

// Read parses a script as far as it parses: the statements before the first
// one that doesn't. It never fails.
func Read(text string) *Source {
	s := &Source{lines: strings.Split(text, "\n"), stmts: parse(text)}
	s.commands = collect(s.stmts)
	return s
}

// parse returns the statements of text up to the first that doesn't parse. A
// fault of the parser itself ends it the same way: advice must never keep
// anybody from saving.
func parse(text string) (stmts []*syntax.Stmt) {
	defer func() { _ = recover() }()
	if nesting(text) > maxBrackets {
		return nil
	}
	for stmt, err := range syntax.NewParser(syntax.Variant(syntax.LangBash)).StmtsSeq(strings.NewReader(text)) {
		if err != nil {
			break
		}
		stmts = append(stmts, stmt)
	}
	return stmts
}

// maxBrackets is how many brackets can be open at once: mvdan.cc/sh v3.14.1
// takes time in the square of the depth of subshells and expansions.
const maxBrackets = 500

// nesting returns the largest number of brackets that are open at once, as if
// each of them counted.
func nesting(text string) (most int) {
	now := 0
	for _, c := range []byte(text) {
		switch c {
		case '(', '{':
			now++
			most = max(most, now)
		case ')', '}':
			now = max(0, now-1)
		}
	}
	return most
}
