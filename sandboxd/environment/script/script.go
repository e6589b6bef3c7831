package script

import "strings"

// MaxSize is the size of the largest script in bytes, in its normal form.
const MaxSize = 64 << 10

// A Warning is advice about one line of a script. It blocks nothing.
type Warning struct {
	Code    string
	Line    int // one-based; 0 when it is about the save
	Message string
}

// Normalise returns the normal form of a script: lines end in LF, no white
// space at the end of the script but one LF, and a script of nothing but white
// space is empty (ledger SV-2). White space at the end of other lines stays, so
// that heredocs keep theirs. It is idempotent.
func Normalise(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	text = strings.TrimRight(text, " \t\n\v\f")
	if text == "" {
		return ""
	}
	return text + "\n"
}
