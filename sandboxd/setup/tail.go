package setup

import (
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport/sandboxd/redact"
)

// maxTail is the longest stderr_tail (ledger SV-18).
const maxTail = 2048

// tail keeps the last lines of a stream, whatever came before them.
type tail struct{ lines []byte }

func (t *tail) add(line []byte) {
	const most = 8 * hintBytes
	t.lines = append(append(t.lines, line...), '\n')
	if len(t.lines) > 2*most {
		t.lines = append(t.lines[:0], t.lines[len(t.lines)-most:]...)
	}
}

// text returns whole lines from the end, at most so many bytes, without the
// escape sequences of terminals. Without them what is left is redacted again:
// they may have cut a credential in two.
func (t *tail) text(r *redact.Redactor, most int) string {
	plain := strings.ToValidUTF8(r.Text(string(redact.Plain(t.lines))), "\uFFFD")
	plain = strings.TrimRight(plain, "\n")
	if len(plain) <= most {
		return plain
	}
	plain = plain[len(plain)-most-1:]
	if _, whole, ok := strings.Cut(plain, "\n"); ok {
		return whole
	}
	for len(plain) > most || !utf8.RuneStart(plain[0]) { // one long line
		plain = plain[1:]
	}
	return plain
}
