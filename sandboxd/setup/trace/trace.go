// Package trace makes a Bash script say which of its lines is about to run, so
// that its output and its failure can be told apart by line.
//
// New returns a Trace of one run. Prelude is the file that BASH_ENV names: it
// makes Bash write a mark into standard output and standard error, past every
// redirection of the script's, before each command. A Splitter takes the marks
// out of one of the streams; a Tracker puts both streams in the marks' order
// and says where the script was; a Map knows which lines belong to a command.
//
// # What the script may notice
//
// Marks are written by a DEBUG trap with functrace, because that alone is run
// before each command, in functions and subshells too, without a change to the
// script. $?, $_ and PIPESTATUS are as without it. A script that looks finds T
// in $-, the trap in the output of trap, a function and two variables whose names
// begin with _sallyport_ and the descriptors 197 to 199; its own RETURN trap is inherited
// by functions. One that sets its own DEBUG trap takes ours away: from there on
// no line is known, nor is any after twenty thousand commands of one shell, of
// which a loop would take many times as long as without. What it starts with exec, or in another shell, isn't traced.
//
// A mark tells nobody anything but the script's author, whose output it is: one
// that a script forges puts its own lines in another place.
package trace

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
)

// Descriptors of the traced shell: nothing, standard output, standard error.
const (
	nullFD   = 197
	stdoutFD = 198
	stderrFD = 199
)

// maxMarks is how many commands of one shell are traced. A loop of more would
// take many times as long as without.
const maxMarks = 20000

// Control characters that frame a mark; ASCII calls them record and unit
// separator.
const (
	record = "\x1e"
	unit   = "\x1f"
)

// Trace is the tracing of one run. It is safe for concurrent use.
type Trace struct {
	nonce string // so that output isn't taken for a mark by chance
}

// New returns a Trace.
func New() Trace { return Trace{nonce: rand.Text()} }

// Prelude returns the file for BASH_ENV of a Bash that runs the script at path.
// It sets errexit and pipefail, after the profile has been read. bashEnv is the
// script's own BASH_ENV; empty means none.
func (t Trace) Prelude(path, bashEnv string) []byte {
	restore := "unset BASH_ENV"
	if bashEnv != "" {
		// As Bash does: expanded, and read if it is there.
		restore = fmt.Sprintf("export BASH_ENV=%s; [[ ! -r $BASH_ENV ]] || . \"$BASH_ENV\"", quote(bashEnv))
	}
	r := strings.NewReplacer("PATH", quote(path), "RESTORE", restore, "NONCE", t.nonce, "WORD", strconv.Itoa(maxWord), "MOST", strconv.Itoa(maxMarks),
		"NULL", strconv.Itoa(nullFD), "STDOUT", strconv.Itoa(stdoutFD), "STDERR", strconv.Itoa(stderrFD))
	return []byte(r.Replace(prelude))
}

// prelude is quick, because it is run before each command: what the trap itself
// says is parsed every time. The trap's own argument keeps $_ as it is, and the
// group keeps what xtrace says of the trap out of standard error. Bash reads
// .bash_logout when a login shell exits, which isn't the script's.
const prelude = `if [[ $0 == PATH && $BASH_SUBSHELL == 0 ]]; then
	RESTORE
	_sallyport_mark() {
		local at=${BASH_LINENO[0]}:$BASHPID:${BASH_SOURCE[1]-}:$BASH_COMMAND
		[[ $at != "${_sallyport_at-}" && ${BASH_SOURCE[1]-} != */.bash_logout ]] || return 0
		_sallyport_at=$at
		if (( ++_sallyport_count > MOST )); then
			local end
			builtin printf -v end '\036NONCE\0370\0370\0370\037%s\037\037\036' "$BASHPID"
			builtin printf %s "$end" >&STDOUT
			builtin printf %s "$end" >&STDERR
			trap - DEBUG
			return 0
		fi
		local in=0 word=${BASH_COMMAND%%[[:space:]]*} mark
		[[ ${BASH_SOURCE[1]-} != PATH ]] || in=1
		word=${word:0:WORD}
		builtin printf -v mark '\036NONCE\037%s\037%s\037%s\037%s\037%s\037%s\036' "${BASH_LINENO[0]}" $in \
			"${BASH_LINENO[${#BASH_LINENO[@]}-2]}" "$BASHPID" "${!-}" "${word//[^A-Za-z0-9_.\/-]/}"
		builtin printf %s "$mark" >&STDOUT
		builtin printf %s "$mark" >&STDERR
		return 0
	}
	exec NULL>/dev/null STDOUT>&1 STDERR>&2
	set -eo pipefail
	set -T
	_sallyport_count=0
	trap '{ _sallyport_mark "$_"; } 2>&NULL' DEBUG
else
	RESTORE
fi
`

// quote quotes text for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
