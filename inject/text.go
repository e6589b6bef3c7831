package inject

import (
	"bytes"

	"github.com/sallyport/sallyport/inject/scan"
)

// minHeld is how much of what may not leave has to be there before it is held
// back. Fewer bytes give nothing away, and a byte that is held for no reason
// would stall a peer that waits for it.
const minHeld = 4

// watchedText looks through one text that leaves in pieces: as it is, and with
// escapes undone.
type watchedText struct {
	w      *watch
	where  string
	keep   int          // how much of what is gone is looked at again
	stop   *scan.Finder // what ends the text; other boundaries' placeholders are found by their marks
	stops  []Find       // beside the needles of stop
	text   []byte       // the last that is gone, and what isn't yet
	gone   int          // how much of text is gone
	levels [rounds]escapedText
}

// escapedText is the text with its escapes undone once more.
type escapedText struct {
	on   bool // there has been an escape
	left []byte
	text []byte
}

func newWatchedText(w *watch, where string) *watchedText {
	t := &watchedText{w: w, where: where, keep: w.set.issued.marks.Load().window()}
	now := w.set.values.now.Load()
	t.stop, t.stops = now.stops, now.finds
	t.keep = max(t.keep, t.stop.Longest())
	return t
}

// pass takes the next piece and returns what may go by now, valid until the
// next call. An error is a *MisuseError: nothing more may go.
func (t *watchedText) pass(piece []byte, last bool) ([]byte, error) {
	t.forget()
	t.text = append(t.text, piece...)
	if err := t.look(t.text); err != nil {
		return nil, err
	}
	if err := t.undo(0, t.text, len(piece)); err != nil {
		return nil, err
	}
	end := len(t.text)
	if !last {
		if tail := t.stop.Tail(t.text, 0); len(t.text)-tail >= minHeld {
			end = max(tail, t.gone)
		}
	}
	out := t.text[t.gone:end]
	t.gone = end
	return out, nil
}

// forget drops what has been gone for long.
func (t *watchedText) forget() {
	if cut := t.gone - t.keep; cut > 0 {
		t.text = append(t.text[:0], t.text[cut:]...)
		t.gone -= cut
	}
}

// look judges all that is in text.
func (t *watchedText) look(text []byte) error {
	if m, found := t.stop.Find(text, 0); found {
		return t.judge(t.stops[m.Needle])
	}
	var refused error
	t.w.set.issued.eachIn(text, func(o *owner) {
		if err := t.judge(t.w.set.judge(o)); err != nil {
			refused = err
		}
	})
	return refused
}

func (t *watchedText) judge(f Find) error {
	f.Where = t.where
	return t.w.judge(f)
}

// undo undoes the escapes in the last n bytes of text, the one below level, and
// looks at the outcome.
func (t *watchedText) undo(level int, text []byte, n int) error {
	if level == rounds {
		return nil
	}
	l := &t.levels[level]
	before, piece := text[:len(text)-n], text[len(text)-n:]
	if !l.on {
		if bytes.IndexByte(piece, '%') < 0 && bytes.IndexByte(piece, '\\') < 0 {
			return nil
		}
		l.on, l.text = true, bytes.Clone(before) // there was nothing to undo so far
	}
	undone, left := unescapePiece(append(l.left, piece...))
	l.left = bytes.Clone(left)
	if cut := len(l.text) - t.keep; cut > 0 {
		l.text = append(l.text[:0], l.text[cut:]...)
	}
	l.text = append(l.text, undone...)
	if err := t.look(l.text); err != nil {
		return err
	}
	return t.undo(level+1, l.text, len(undone))
}

// unescapePiece undoes the escapes of a piece; left is its end if that could be
// the beginning of one.
func unescapePiece(piece []byte) (undone, left []byte) {
	undone = make([]byte, 0, len(piece))
	for len(piece) > 0 {
		next := bytes.IndexAny(piece, `%\`)
		if next < 0 {
			return append(undone, piece...), nil
		}
		undone = append(undone, piece[:next]...)
		piece = piece[next:]
		if partialEscape(piece) {
			return undone, piece
		}
		c, n := escapeAt(piece)
		undone = append(undone, c)
		piece = piece[n:]
	}
	return undone, nil
}

// partialEscape reports whether more bytes could make piece begin with an
// escape that it doesn't begin with yet.
func partialEscape(piece []byte) bool {
	want := 3
	if piece[0] == '\\' {
		want = 2
		if len(piece) >= 2 && piece[1] == 'u' {
			want = 6
		}
	}
	return len(piece) < want
}
