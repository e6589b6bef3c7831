package script

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Stand-ins within the text of a word.
const (
	expanded = "\x00" // for an expansion, whose value nobody knows
	quoted   = "\x01" // in bare: for a quoted character that would mean something unquoted
)

// A word is an argument as far as it is known without running anything.
type word struct {
	text string // quotes removed, expansions as one stand-in
	bare string // the same with quoted pattern characters replaced
	node *syntax.Word
}

// known reports whether all of the word is.
func (w word) known() bool { return !strings.Contains(w.text, expanded) }

func wordOf(w *syntax.Word) word {
	if w == nil {
		return word{}
	}
	var text, bare strings.Builder
	for _, part := range w.Parts {
		writePart(&text, &bare, part, false)
	}
	return word{text: text.String(), bare: bare.String(), node: w}
}

var hide = strings.NewReplacer("*", quoted, "?", quoted, "[", quoted, "{", quoted, "~", quoted)

func writePart(text, bare *strings.Builder, part syntax.WordPart, inQuotes bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		value := unescape(p.Value)
		text.WriteString(value)
		if inQuotes || value != p.Value {
			value = hide.Replace(value)
		}
		bare.WriteString(value)
	case *syntax.SglQuoted:
		text.WriteString(p.Value)
		bare.WriteString(hide.Replace(p.Value))
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			writePart(text, bare, inner, true)
		}
	default:
		text.WriteString(expanded)
		bare.WriteString(expanded)
	}
}

// unescape takes the backslashes out of a literal.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// A call is a command with its arguments, freed of what only changes how it is
// run (sudo, env, nohup and the like).
type call struct {
	path string // as written
	name string // without directories
	args []word
	sudo bool // it runs with a fresh PATH
	line int
}

func callOf(c *syntax.CallExpr) (call, bool) {
	if len(c.Args) == 0 {
		return call{}, false
	}
	words := make([]word, len(c.Args))
	for i, a := range c.Args {
		words[i] = wordOf(a)
	}
	sudo := false
	for range words { // each round takes away a wrapper
		if len(words) == 0 || words[0].text == "" || !words[0].known() {
			return call{}, false
		}
		name := path.Base(words[0].text)
		w, ok := wrappers[name]
		if !ok {
			return call{path: words[0].text, name: name, args: words[1:], sudo: sudo, line: line(c.Pos())}, true
		}
		sudo = sudo || w.privilege
		words = w.strip(words[1:])
	}
	return call{}, false
}

// A wrapper is a command that runs the command in its arguments.
type wrapper struct {
	values    string // short options that take a value
	long      []string
	assigns   bool // takes NAME=VALUE before the command
	operands  int  // other operands before the command
	looks     string
	privilege bool
}

// wrappers by name. looks are options that make it only look for a command.
var wrappers = map[string]wrapper{
	"sudo":    {values: "ugpCrtThUDR", long: []string{"--user", "--group", "--prompt", "--chdir", "--host", "--close-from"}, assigns: true, looks: "lvVkK", privilege: true},
	"doas":    {values: "uC", looks: "L", privilege: true},
	"env":     {values: "uCS", long: []string{"--unset", "--chdir"}, assigns: true},
	"command": {looks: "vV"},
	"builtin": {},
	"exec":    {values: "a"},
	"nohup":   {},
	"time":    {values: "fo"},
	"nice":    {values: "n", long: []string{"--adjustment"}},
	"ionice":  {values: "cnp"},
	"timeout": {values: "sk", long: []string{"--signal", "--kill-after"}, operands: 1},
	"stdbuf":  {values: "ioe"},
	"setsid":  {},
	"flock":   {values: "wE", operands: 1},
	"xargs":   {values: "aEIdLnPs", long: []string{"--max-args", "--max-procs", "--delimiter", "--replace"}},
}

// strip returns the words of the command itself, none when there is none.
func (w wrapper) strip(words []word) []word {
	operands := w.operands
	for len(words) > 0 {
		text := words[0].text
		switch {
		case text == "--":
			words = words[1:]
			if operands > 0 {
				continue
			}
			return words
		case strings.HasPrefix(text, "--"):
			words = skip(words, takesValue(text, w.long))
		case len(text) > 1 && text[0] == '-':
			if w.looks != "" && strings.ContainsAny(text, w.looks) {
				return nil
			}
			words = skip(words, strings.Contains(w.values, text[len(text)-1:]))
		case w.assigns && assignment(text):
			words = words[1:]
		case operands > 0:
			operands--
			words = words[1:]
		default:
			return words
		}
	}
	return nil
}

func skip(words []word, value bool) []word {
	if value && len(words) > 1 {
		return words[2:]
	}
	return words[1:]
}

// takesValue reports whether the value of a long option is the next word.
func takesValue(option string, long []string) bool {
	for _, l := range long {
		if option == l {
			return true
		}
	}
	return false
}

func assignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && syntax.ValidName(name)
}
