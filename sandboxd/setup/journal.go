package setup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport/sandboxd/redact"
	"github.com/sallyport/sallyport/sandboxd/setup/trace"
)

const (
	// maxLog is how much of a run's output is kept (ledger SV-29).
	maxLog = 4 << 20
	// maxLine is where longer lines are split.
	maxLine = 16 << 10
	// hintBytes is how much of the end of each stream hints are looked for in.
	hintBytes = 8 << 10
)

// journal writes the log of one run: redacted lines, in order. It is a
// trace.Sink. It is safe for concurrent use.
type journal struct {
	clock  func() time.Time
	script *trace.Map
	redact *redact.Redactor
	notify func() // called after lines were added

	mu        sync.Mutex // guards what follows
	file      *os.File
	err       error // of the first write that failed
	record    []byte
	last      time.Time
	lines     int64
	bytes     int64
	truncated bool
	out       [2]output

	size logSize // of what readers can see
}

// logSize is the size of a log. It is safe for concurrent use.
type logSize struct {
	mu           sync.Mutex
	lines, bytes int64
	truncated    bool
}

func (l *logSize) store(lines, bytes int64, truncated bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines, l.bytes, l.truncated = lines, bytes, truncated
}

func (l *logSize) load() (lines, bytes int64, truncated bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines, l.bytes, l.truncated
}

// output is one stream of the script.
type output struct {
	stream *redact.Stream
	clean  []byte // redacted, no complete line yet
	line   int    // of the script, where that began
	begun  bool
	tail   tail
}

// newJournal begins a log.
func newJournal(path string, script *trace.Map, r *redact.Redactor, clock func() time.Time, notify func()) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin log: %w", err)
	}
	j := &journal{clock: clock, script: script, redact: r, notify: notify, file: f}
	for i := range j.out {
		j.out[i].stream = r.Stream()
	}
	return j, nil
}

// Text takes output of the script. A line of it belongs to the command that
// wrote its beginning.
func (j *journal) Text(s trace.Stream, line int, text []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	o := &j.out[s]
	if !o.begun {
		o.line = line
	}
	o.begun = text[len(text)-1] != '\n'
	o.clean = o.stream.Append(o.clean, text)
	j.pass(s, line)
	j.flush()
}

// Marker takes the line that is about to run.
func (j *journal) Marker(line int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(Line{Stream: Marker, Line: line, Text: j.redact.Text(j.script.Text(line))})
	j.flush()
}

// system notes something outside the script.
func (j *journal) system(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.redact.Text(fmt.Sprintf(format, args...))) {
		j.add(Line{Stream: System, Text: strings.TrimSuffix(line, "\n")})
	}
	j.flush()
}

// finish passes on what the script left without a newline.
func (j *journal) finish() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range []trace.Stream{trace.Stdout, trace.Stderr} {
		o := &j.out[s]
		o.clean = o.stream.Close(o.clean)
		j.pass(s, o.line)
		if len(o.clean) > 0 {
			j.put(s, o.clean, j.clock())
			o.clean = nil
		}
	}
	j.flush()
}

// close ends the log.
func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := errors.Join(j.err, j.file.Close())
	j.file = nil
	return err
}

// pass adds the lines that are complete, and parts of one that is too long.
// What follows the first of them was written by the command at next.
func (j *journal) pass(s trace.Stream, next int) {
	o := &j.out[s]
	rest, now := o.clean, j.clock()
	for {
		end := bytes.IndexByte(rest, '\n')
		from := end + 1
		if end > maxLine || end < 0 && len(rest) > maxLine {
			end = runeStart(rest, maxLine)
			from = end
		}
		if end < 0 {
			break
		}
		j.put(s, rest[:end], now)
		if from > end {
			o.line = next
		}
		rest = rest[from:]
	}
	o.clean = append(o.clean[:0], rest...)
}

// runeStart returns the place at or before at where a rune begins.
func runeStart(b []byte, at int) int {
	for i := at; i > at-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			return i
		}
	}
	return at
}

func (j *journal) put(s trace.Stream, text []byte, now time.Time) {
	o := &j.out[s]
	text = bytes.TrimSuffix(text, []byte("\r"))
	o.tail.add(text)
	if j.truncated {
		return
	}
	j.add(Line{Stream: [...]Stream{Stdout, Stderr}[s], Line: o.line, Text: strings.ToValidUTF8(string(text), "\uFFFD"), At: now})
}

// add adds a line, if there is room. What the service itself says always has.
func (j *journal) add(l Line) {
	size := int64(len(l.Text)) + 1
	if l.Stream != System && (j.truncated || j.bytes+size > maxLog) {
		if !j.truncated {
			j.truncated = true
			j.size.store(j.lines, j.bytes, true)
		}
		return
	}
	if len(l.Text) > maxText {
		l.Text = l.Text[:runeStart([]byte(l.Text), maxText)]
	}
	if l.At.IsZero() {
		l.At = j.clock()
	}
	j.record = appendRecord(j.record, l, j.last)
	j.last = l.At
	j.lines++
	j.bytes += size
}

// flush writes what was added, so that readers see it.
func (j *journal) flush() {
	if len(j.record) == 0 || j.file == nil {
		return
	}
	if j.err == nil {
		if _, err := j.file.Write(j.record); err != nil {
			j.err = fmt.Errorf("write log: %w", err)
		}
	}
	j.record = j.record[:0]
	j.size.store(j.lines, j.bytes, j.truncated)
	j.notify()
}

// stderrTail returns the last lines of standard error.
func (j *journal) stderrTail() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.out[trace.Stderr].tail.text(j.redact, maxTail)
}

// ending returns the last lines of both streams, for hints.
func (j *journal) ending() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.out[trace.Stdout].tail.text(j.redact, hintBytes) + "\n" + j.out[trace.Stderr].tail.text(j.redact, hintBytes)
}
