package redact

import (
	"bytes"

	"github.com/sallyport/sallyport/inject/scan"
)

const (
	// window is how much of one line is looked at as a whole.
	window = 32 << 10
	// overlap is the end of a window that is looked at once more, with what
	// follows: enough for what begins a credential.
	overlap = 4 << 10
)

// Stream redacts a text that arrives in pieces. It holds back the line that
// isn't complete, at most a window of it.
type Stream struct {
	r     *Redactor
	known *scan.Stream
	held  []byte // the beginning of a line, known values taken out
	piece []byte // scratch
	lower []byte // scratch

	inKey bool // between the first and the last line of a private key
	open  bool // what was taken out goes on
}

// Stream begins a text.
func (r *Redactor) Stream() *Stream { return &Stream{r: r, known: r.known.Stream()} }

// Append appends to dst what piece, after all before it, makes certain.
func (s *Stream) Append(dst, piece []byte) []byte {
	s.piece = s.known.Append(s.piece[:0], piece)
	return s.advance(dst, s.piece)
}

// Close appends to dst what was held back. The text has ended.
func (s *Stream) Close(dst []byte) []byte {
	dst = s.advance(dst, s.known.Close(s.piece[:0]))
	dst, _ = s.line(dst, s.held)
	s.held = nil
	return dst
}

func (s *Stream) advance(dst, text []byte) []byte {
	if len(s.held) > 0 {
		s.held = append(s.held, text...)
		text = s.held
	}
	for {
		end := bytes.IndexByte(text[:min(len(text), window)], '\n')
		switch {
		case end >= 0:
			var shown bool
			if dst, shown = s.line(dst, text[:end]); shown {
				dst = append(dst, '\n')
			}
			s.open = false
			text = text[end+1:]
		case len(text) >= window:
			var used int
			dst, used = s.part(dst, text[:window])
			text = text[used:]
		default:
			s.held = append(s.held[:0], text...)
			return dst
		}
	}
}

// line appends a line's end, which may be all of it. Of a private key only the
// first line is shown.
func (s *Stream) line(dst, line []byte) (_ []byte, shown bool) {
	line = s.skip(line)
	if s.inKey {
		end := keyEnd.FindIndex(line)
		if end == nil && keyBody.Match(line) {
			return dst, false
		}
		s.inKey = false
		if end != nil {
			if line = line[end[1]:]; len(bytes.TrimSpace(line)) == 0 {
				return dst, false
			}
		}
	}
	candidates := s.candidates(line)
	if bytes.IndexByte(line, '\x1b') >= 0 {
		// Colours may cut a token in two.
		plain := Plain(line)
		if c := s.candidates(plain); len(matches(plain, c)) > 0 {
			line, candidates = plain, c
		}
	}
	if candidates == 0 {
		return append(dst, line...), true
	}
	if begins := keyBegin.FindAllIndex(line, -1); begins != nil {
		s.inKey = keyEnd.FindIndex(line[begins[len(begins)-1][1]:]) == nil
	}
	dst, _, _ = redactLine(dst, line, candidates, len(line))
	return dst, true
}

func (s *Stream) candidates(line []byte) (c uint32) {
	c, s.lower = suspect(line, s.lower)
	return c
}

// part appends a part of a line that is longer than a window, and returns how
// much of it was used.
func (s *Stream) part(dst, text []byte) ([]byte, int) {
	rest := s.skip(text)
	skipped := len(text) - len(rest)
	if len(rest) <= overlap {
		return dst, max(skipped, 1)
	}
	if s.inKey && keyBody.Match(rest) {
		return dst, len(text)
	}
	s.inKey = false
	dst, used, open := redactLine(dst, rest, s.candidates(rest), len(rest)-overlap)
	s.open = open
	return dst, skipped + used
}

// skip drops the end of what was taken out before.
func (s *Stream) skip(text []byte) []byte {
	if !s.open {
		return text
	}
	end := bytes.IndexAny(text, " \t\r\"'<>")
	if end < 0 {
		return nil
	}
	s.open = false
	return text[end:]
}
