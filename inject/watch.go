package inject

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
)

// watch collects what is found in one request.
type watch struct {
	set *Set

	mu      sync.Mutex // guards what follows: a body is read by its transport
	finds   []Find
	refused *MisuseError
}

func (w *watch) all() []Find {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.finds)
}

func (w *watch) refusal() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refused == nil {
		return nil // not a nil *MisuseError
	}
	return w.refused
}

// note keeps a find, each once.
func (w *watch) note(f Find) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.finds, f) {
		w.finds = append(w.finds, f)
	}
}

// judge notes a find in a body and returns a *MisuseError if it ends there.
func (w *watch) judge(f Find) error {
	w.note(f)
	switch f.Kind {
	case FoundPlaceholder, FoundHoney:
		if !w.set.strict[f.Env] {
			return nil
		}
	case FoundStolen, FoundSecret:
	}
	return w.refuse(f)
}

// judgeTrailer refuses what no header may hold either.
func (w *watch) judgeTrailer(trailer http.Header) error {
	for name, values := range trailer {
		for _, value := range values {
			var found worst
			w.set.inspect(value, found.add)
			if !found.found || found.find.Kind == FoundPlaceholder && w.set.forwarded[found.find.Env] {
				continue
			}
			found.find.Where = "trailer " + name
			w.note(found.find)
			return w.refuse(found.find)
		}
	}
	return nil
}

// refuse ends the request for a find.
func (w *watch) refuse(f Find) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = &MisuseError{f}
	return w.refused
}

// over puts the body of r under watch.
func (w *watch) over(r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody || !w.set.watches() {
		return
	}
	size := int64(pieceSize)
	if r.ContentLength >= 0 {
		size = min(size, max(r.ContentLength+1, 512))
	}
	r.Body = &watchedBody{body: r.Body, text: newWatchedText(w, "body"), head: r, size: size}
}

// watches reports whether there is anything to look for.
func (s *Set) watches() bool {
	return s.issued.marks.Load() != nil || s.values.now.Load().stops != nil
}

// pieceSize is how much of a body is read at a time.
const pieceSize = 32 << 10

// watchedBody passes a body on as it comes, until something is found that may
// not leave.
type watchedBody struct {
	body io.ReadCloser
	text *watchedText
	head *http.Request // whose trailer is there once body has ended
	size int64
	buf  []byte // for reading
	out  []byte // what may go, in buf of text
	err  error  // comes after out
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if b.buf == nil {
		b.buf = make([]byte, b.size)
	}
	for len(b.out) == 0 && b.err == nil {
		n, err := b.body.Read(b.buf)
		var refused error
		b.out, refused = b.text.pass(b.buf[:n], err != nil)
		if refused == nil && errors.Is(err, io.EOF) {
			refused = b.text.w.judgeTrailer(b.head.Trailer)
		}
		if b.err = err; refused != nil {
			b.out, b.err = nil, refused
		}
	}
	if len(b.out) == 0 {
		return 0, b.err
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

func (b *watchedBody) Close() error { return b.body.Close() }
