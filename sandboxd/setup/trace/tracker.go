package trace

import (
	"slices"
	"sync"
)

// Stream is one of the two that a script writes to.
type Stream int

// The streams.
const (
	Stdout Stream = iota
	Stderr
)

// Sink takes what a Tracker makes of the streams. It is called by one goroutine
// at a time. Text is only valid during the call.
type Sink interface {
	// Text is output of the command at line; 0 means that it isn't known.
	Text(s Stream, line int, text []byte)
	// Marker says that the command at line is about to run.
	Marker(line int)
}

const (
	// maxWaiting is how much of one stream may wait for the other's marks.
	maxWaiting = 1 << 20
	// maxMarkers is how often a line, in a loop perhaps, has a marker.
	maxMarkers = 100
	// maxRecent is how many marks are remembered. One of the script's own is
	// among them unless that many background processes ran since.
	maxRecent = 256
)

// Tracker puts two streams with the same marks in one order. Both streams may
// write at once.
type Tracker struct {
	script *Map
	sink   Sink

	mu      sync.Mutex
	waiting [2][]item
	size    [2]int // of what waits
	loose   bool   // the streams lost each other: those of standard output count

	main       int          // process id of the shell
	background map[int]bool // process ids
	recent     []place      // the last ones, oldest first
	handling   bool         // the script's own handler of a signal or an error runs
	command    command      // the shell's last
	sub        place        // the last within that, by another process
	line       int          // of the command that runs; 0: unknown
	furthest   int          // the last root line that isn't the first line
	marker     int          // the last one that was passed on
	markers    map[int]int  // how often by line
}

// place is where a process was.
type place struct {
	pid  int
	line int // 0: not in the script
}

// item is text or a mark.
type item struct {
	text []byte
	mark *Mark
}

// NewTracker returns a Tracker of script.
func NewTracker(script *Map, sink Sink) *Tracker {
	return &Tracker{script: script, sink: sink, background: map[int]bool{}, markers: map[int]int{}}
}

// Writer returns the writer for a stream; closing it says that the stream has
// ended.
func (t *Tracker) Writer(trace Trace, s Stream) *Writer {
	return &Writer{tracker: t, stream: s, splitter: trace.Splitter()}
}

// Writer takes what the script writes to one stream.
type Writer struct {
	tracker  *Tracker
	stream   Stream
	splitter *Splitter
}

// Write never fails.
func (w *Writer) Write(p []byte) (int, error) {
	w.tracker.mu.Lock()
	defer w.tracker.mu.Unlock()
	w.splitter.Split(p,
		func(text []byte) { w.tracker.text(w.stream, text) },
		func(m Mark) { w.tracker.mark(w.stream, m) })
	return len(p), nil
}

// Finish passes on all that waits. Both streams have ended.
func (t *Tracker) Finish(writers ...*Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range writers {
		w.splitter.Close(func(text []byte) { t.text(w.stream, text) })
	}
	t.loosen()
}

// Failed returns the line of the command that ran last, where that is the
// script's own; 0 where it isn't, or isn't known.
func (t *Tracker) Failed() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range slices.Backward(t.recent) {
		if !t.background[p.pid] {
			return p.line
		}
	}
	return 0
}

func (t *Tracker) text(s Stream, text []byte) {
	if len(t.waiting[s]) == 0 {
		t.sink.Text(s, t.line, text)
		return
	}
	t.wait(s, item{text: slices.Clone(text)})
}

func (t *Tracker) mark(s Stream, m Mark) {
	if t.loose {
		if s == Stdout {
			t.pass(m)
		}
		return
	}
	t.wait(s, item{mark: &m})
	t.advance()
}

func (t *Tracker) wait(s Stream, i item) {
	t.waiting[s] = append(t.waiting[s], i)
	const fixed = 64 // what a mark takes
	if t.size[s] += len(i.text) + fixed; t.size[s] > maxWaiting {
		t.loosen()
	}
}

// advance passes on what both streams have reached.
func (t *Tracker) advance() {
	for len(t.waiting[Stdout]) > 0 && len(t.waiting[Stderr]) > 0 {
		m := *t.waiting[Stdout][0].mark
		t.drop(Stdout)
		t.drop(Stderr)
		t.pass(m)
		for _, s := range []Stream{Stdout, Stderr} {
			for len(t.waiting[s]) > 0 && t.waiting[s][0].mark == nil {
				t.sink.Text(s, t.line, t.waiting[s][0].text)
				t.drop(s)
			}
		}
	}
}

func (t *Tracker) drop(s Stream) {
	const fixed = 64
	t.size[s] -= len(t.waiting[s][0].text) + fixed
	if t.waiting[s] = t.waiting[s][1:]; len(t.waiting[s]) == 0 {
		t.waiting[s] = nil
	}
}

// loosen passes on all that waits: a stream goes on without the other.
func (t *Tracker) loosen() {
	t.loose = true
	for _, s := range []Stream{Stdout, Stderr} {
		for len(t.waiting[s]) > 0 {
			if i := t.waiting[s][0]; i.mark == nil {
				t.sink.Text(s, t.line, i.text)
			} else if s == Stdout {
				t.pass(*i.mark)
			}
			t.drop(s)
		}
	}
}

// pass makes a mark the place where the script is.
func (t *Tracker) pass(m Mark) {
	if t.main == 0 {
		t.main = m.PID
	}
	if m.Background != 0 && len(t.background) < maxRecent {
		t.background[m.Background] = true
	}
	if t.background[m.PID] {
		return
	}
	line, known := t.locate(m)
	if !known {
		return
	}
	if len(t.recent) == maxRecent {
		t.recent = t.recent[1:]
	}
	t.recent = append(t.recent, place{m.PID, line})
	if line == 0 {
		return // its output is that of the line which it was called from
	}
	t.line = line
	if t.line != t.marker && t.markers[t.line] < maxMarkers {
		t.markers[t.line]++
		t.marker = t.line
		t.sink.Marker(t.line)
	}
}

// locate returns the script's line that a mark is of, 0 for one of another
// file. It isn't known for what the script's own traps run.
func (t *Tracker) locate(m Mark) (line int, known bool) {
	if m.Root == 0 { // tracing has ended
		t.line = 0
		return 0, true
	}
	if m.Root == 1 && t.furthest > 1 && t.script.single(1) {
		t.line, t.handling = 0, true // Bash counts the lines of a handler anew
		return 0, false
	}
	if m.Root > 1 && m.PID == t.main {
		t.furthest = m.Root
	}
	if !m.Script {
		return 0, !t.handling
	}
	if m.Root != m.Line { // in a function
		// While a handler of ERR runs, Bash goes on naming what failed.
		return t.script.First(m.Line), !t.handling && t.script.has(m.Line, m.Word)
	}
	if m.PID == t.main {
		if t.handling = !t.script.has(m.Line, m.Word); t.handling {
			return 0, false
		}
		t.command, t.sub = t.script.at(m.Line), place{}
		return t.command.first, true
	}
	if t.command.simple && t.command.last > t.command.first {
		from := t.command.first
		if t.sub.pid == m.PID {
			from = t.sub.line
		}
		if line := t.script.inside(t.command, from, m.Word); line > 0 {
			t.sub = place{m.PID, line}
			return line, true
		}
	}
	return t.script.First(m.Line), t.script.has(m.Line, m.Word)
}
