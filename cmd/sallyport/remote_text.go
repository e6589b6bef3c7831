package main

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// printable is text of others as a terminal may see it: a sandbox's output must
// not move the cursor, change the title or paste (ledger SV-31: the log keeps
// such sequences).
func printable(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if n := escape(text[i:]); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if r == '\t' || r == '\n' || unicode.IsPrint(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// escape is the length of the escape sequence that text begins with (ECMA-48):
// a control sequence or a string up to its end; 0 for none.
func escape(text string) int {
	if len(text) < 2 || text[0] != '\x1b' {
		return 0
	}
	switch text[1] {
	case '[':
		for i := 2; i < len(text); i++ {
			if text[i] >= 0x40 && text[i] <= 0x7e {
				return i + 1
			}
		}
		return len(text)
	case ']', 'P', 'X', '^', '_':
		for i := 2; i < len(text); i++ {
			switch {
			case text[i] == '\a':
				return i + 1
			case text[i] == '\x1b':
				return min(i+2, len(text)) // ESC \ ends it, anything else breaks it off
			}
		}
		return len(text)
	}
	return 2
}

// indent puts each line of text behind a margin.
func indent(margin, text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return margin + strings.Join(lines, "\n"+margin) + "\n"
}

// or is what p points to, or the zero value.
func or[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// ptr is a pointer to v, for the generated client's optional parameters.
func ptr[T any](v T) *T { return &v }

// stamp is a time in a table.
func stamp(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// span is a duration in milliseconds as people read it.
func span(ms *int64) string {
	if ms == nil {
		return "-"
	}
	d := time.Duration(*ms) * time.Millisecond
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
