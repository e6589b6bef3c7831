package trace

import (
	"bytes"
	"strconv"
)

// Mark says what is about to run.
type Mark struct {
	Line       int  // of the file that it is in
	Script     bool // that file is the script
	Root       int  // line of the script from which it was called, itself if it wasn't
	PID        int  // of the shell
	Background int  // the last background process that this shell started; 0: none
	// Word is the first of the command, of which only letters, digits and
	// "_./-" are left.
	Word string
}

const (
	maxMark = 200 // the longest that a mark is
	maxWord = 40  // the longest that a Word is
)

// Splitter takes the marks out of one stream. It is for one goroutine.
type Splitter struct {
	prefix []byte
	held   []byte
}

// Splitter returns a Splitter for one of the run's streams.
func (t Trace) Splitter() *Splitter { return &Splitter{prefix: []byte(record + t.nonce + unit)} }

// Split calls text and mark with what piece, after all before it, makes certain,
// in order. The text is only valid during the call.
func (s *Splitter) Split(piece []byte, text func([]byte), mark func(Mark)) {
	if len(s.held) > 0 {
		s.held = append(s.held, piece...)
		piece = s.held
	}
	for {
		at := bytes.Index(piece, s.prefix)
		if at < 0 {
			break
		}
		body := piece[at+len(s.prefix):]
		end := bytes.IndexByte(body[:min(len(body), maxMark)], record[0])
		if end < 0 && len(body) < maxMark {
			s.hold(piece, at, text)
			return
		}
		m, ok := Mark{}, false
		if end >= 0 {
			m, ok = parseMark(body[:end])
		}
		if !ok { // somebody else's: it is text
			emit(text, piece[:at+len(s.prefix)])
			piece = body
			continue
		}
		emit(text, piece[:at])
		mark(m)
		piece = body[end+1:]
	}
	s.hold(piece, len(piece)-s.begun(piece), text)
}

// Close calls text with what was held back. The stream has ended.
func (s *Splitter) Close(text func([]byte)) {
	emit(text, s.held)
	s.held = nil
}

// hold passes on piece up to at and keeps the rest.
func (s *Splitter) hold(piece []byte, at int, text func([]byte)) {
	emit(text, piece[:at])
	s.held = append(s.held[:0], piece[at:]...)
}

// begun returns how much of the end of piece begins a mark.
func (s *Splitter) begun(piece []byte) int {
	for n := min(len(s.prefix)-1, len(piece)); n > 0; n-- {
		if bytes.HasSuffix(piece, s.prefix[:n]) {
			return n
		}
	}
	return 0
}

func emit(text func([]byte), b []byte) {
	if len(b) > 0 {
		text(b)
	}
}

func parseMark(body []byte) (m Mark, ok bool) {
	fields := bytes.Split(body, []byte(unit))
	const numbers = 5
	if len(fields) != numbers+1 {
		return Mark{}, false
	}
	var n [numbers]int
	for i, f := range fields[:numbers] {
		v, err := strconv.Atoi(string(f))
		if err != nil && (len(f) > 0 || i != 4) || v < 0 {
			return Mark{}, false
		}
		n[i] = v
	}
	return Mark{Line: n[0], Script: n[1] == 1, Root: n[2], PID: n[3], Background: n[4], Word: string(fields[numbers])}, true
}
