// Package inside is how the parts of sandboxd that prepare a sandbox run
// commands in it: git, above all, is never run on the host over files that a
// sandbox owns, because a repository can make git run programs.
//
// A [Runner] is made by whoever holds the sandbox, from its provider; the
// packages that use one know of no provider.
//
// Security promise: what a command writes is held up to [MaxOutput] and is
// hostile. [Line] makes it fit for a log or a terminal.
package inside

import (
	"context"
	"strings"
	"unicode"
)

// MaxOutput is how much of each stream of a command a Runner holds at least,
// and a Buffer at most, in bytes.
const MaxOutput = 1 << 20

// Command is one command in a sandbox. Argv is required.
type Command struct {
	Argv []string
	// Env are variables, KEY=VALUE, beside those that every command of the
	// sandbox has; they win over those. They hold no secret.
	Env   []string
	Dir   string // absolute; "" is the provider's default
	Root  bool   // as root of the sandbox, rather than as its user
	Stdin string
}

// Result is how a command ended. Code is what a shell would report: 127 for a
// command that doesn't exist.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Runner runs a command in a sandbox and waits for its end; when ctx ends first
// it ends the command. Commands have the variables of the platform (the CA, the
// proxy, what makes git ask the credential helper) and none that a user has
// set. An error means that the command wasn't run to its end.
type Runner func(ctx context.Context, c Command) (Result, error)

// Buffer keeps the first MaxOutput bytes that are written to it. The zero value
// is empty.
type Buffer struct{ kept strings.Builder }

// Write implements io.Writer. It never fails, so that the command goes on.
func (b *Buffer) Write(p []byte) (int, error) {
	if room := MaxOutput - b.kept.Len(); room > 0 {
		b.kept.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// String returns what was kept.
func (b *Buffer) String() string { return b.kept.String() }

// maxLine is the longest line that Line returns, in runes.
const maxLine = 300

// Line returns the last line of text that says something, cut short, with a
// space for everything that isn't printable: a hostile repository chooses what
// git prints (case D30).
func Line(text string) string {
	lines := strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' })
	for i := len(lines) - 1; i >= 0; i-- {
		line := []rune(strings.TrimSpace(strings.Map(printable, lines[i])))
		if len(line) > 0 {
			return string(line[:min(maxLine, len(line))])
		}
	}
	return ""
}

func printable(c rune) rune {
	if !unicode.IsPrint(c) {
		return ' '
	}
	return c
}
