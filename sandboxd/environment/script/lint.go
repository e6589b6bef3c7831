package script

import (
	"cmp"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// The codes of warnings.
const (
	BashLCWrapper                = "bash_lc_wrapper"
	CurlPipeSh                   = "curl_pipe_sh"
	UnpinnedInstall              = "unpinned_install"
	RmRfRoot                     = "rm_rf_root"
	AmbiguousSystemPython        = "ambiguous_system_python"
	PathClobber                  = "path_clobber"
	NonpersistentShellActivation = "nonpersistent_shell_activation"
	VerifyNotStarted             = "verify_not_started"
	LegacySetupDiscarded         = "legacy_setup_discarded"
)

// MaxWarnings is the largest number of warnings about one script.
const MaxWarnings = 100

// maxNesting is how deep scripts within arguments are read.
const maxNesting = 4

// Warnings returns advice about risky lines, by line and code, each code once
// for a line and at most [MaxWarnings] of them. The caller owns the slice.
func (s *Source) Warnings() []Warning {
	l := &linter{}
	l.script(s.stmts, 0)
	slices.SortStableFunc(l.found, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code))
	})
	l.found = slices.CompactFunc(l.found, func(a, b Warning) bool { return a.Line == b.Line && a.Code == b.Code })
	return l.found[:min(len(l.found), MaxWarnings)]
}

// A linter goes through a script in the order of its lines.
type linter struct {
	found   []Warning
	above   []syntax.Node
	scopes  []bool // whether a virtual environment is active, per shell
	offset  int    // of the lines of a nested script
	nesting int
}

func (l *linter) warn(code string, at int, message string) {
	l.found = append(l.found, Warning{Code: code, Line: at + l.offset, Message: message})
}

// script looks at the statements of a script whose first line is offset lines
// further down than it says.
func (l *linter) script(stmts []*syntax.Stmt, offset int) {
	above, before := l.above, l.offset
	l.above, l.offset, l.nesting = nil, l.offset+offset, l.nesting+1
	l.scopes = append(l.scopes, false)
	for _, s := range stmts {
		syntax.Walk(s, l.visit)
	}
	l.scopes = l.scopes[:len(l.scopes)-1]
	l.above, l.offset, l.nesting = above, before, l.nesting-1
}

// nested looks at a script in an argument.
func (l *linter) nested(w word) {
	if l.nesting > maxNesting || w.node == nil || !w.known() {
		return
	}
	l.script(parse(w.text), line(w.node.Pos())-1)
}

func (l *linter) visit(n syntax.Node) bool {
	if n == nil {
		if scope(l.above[len(l.above)-1]) {
			l.scopes = l.scopes[:len(l.scopes)-1]
		}
		l.above = l.above[:len(l.above)-1]
		return true
	}
	l.above = append(l.above, n)
	if scope(n) {
		l.scopes = append(l.scopes, l.scopes[len(l.scopes)-1])
	}
	switch n := n.(type) {
	case *syntax.Stmt:
		l.redirections(n)
	case *syntax.BinaryCmd:
		if pipes(n) {
			l.pipe(n)
		}
	case *syntax.DeclClause:
		if n.Variant.Value != "local" {
			l.assignments(n.Args)
		}
	case *syntax.CallExpr:
		if len(n.Args) == 0 {
			l.assignments(n.Assigns)
		}
		if c, ok := callOf(n); ok {
			l.call(c)
		}
	}
	return true
}

// call looks at one command.
func (l *linter) call(c call) {
	l.shell(c)
	l.install(c)
	l.remove(c)
	l.python(c)
	l.unset(c)
	l.activation(c)
}

// scope reports whether what happens in n stays there.
func scope(n syntax.Node) bool {
	switch n.(type) {
	case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.FuncDecl:
		return true
	}
	return false
}

// inSubshell reports whether the shell that is looked at ends before the
// script does.
func (l *linter) inSubshell() bool {
	return l.nesting > 1 || slices.ContainsFunc(l.above, func(n syntax.Node) bool {
		_, function := n.(*syntax.FuncDecl)
		return !function && scope(n)
	})
}

func (l *linter) activated() bool { return l.scopes[len(l.scopes)-1] }
func (l *linter) activate()       { l.scopes[len(l.scopes)-1] = true }
