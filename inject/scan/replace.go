package scan

// Replacer replaces each rendering by its stand-in: at each place the longest,
// from left to right. It is immutable and safe for concurrent use; nil replaces
// nothing.
type Replacer struct {
	finder *Finder
	stands [][]byte
	even   bool
}

// NewReplacer returns a Replacer of renderings; nil if there are none.
func NewReplacer(renderings []Rendering) *Replacer {
	if len(renderings) == 0 {
		return nil
	}
	r := &Replacer{even: true}
	needles := make([][]byte, len(renderings))
	for i, x := range renderings {
		needles[i] = x.Text
		r.stands = append(r.stands, x.Stand)
		r.even = r.even && len(x.Text) == len(x.Stand)
	}
	r.finder = NewFinder(needles)
	return r
}

// Finder returns what finds the renderings, by their index; nil for nil.
func (r *Replacer) Finder() *Finder {
	if r == nil {
		return nil
	}
	return r.finder
}

// Even reports whether every stand-in is as long as what it replaces, so that
// no text changes its length.
func (r *Replacer) Even() bool { return r == nil || r.even }

// Fitted returns a Replacer whose stand-ins are cut, or repeated, to the length
// of what they replace: for content whose length or layout must stay.
func (r *Replacer) Fitted() *Replacer {
	if r.Even() {
		return r
	}
	fitted := &Replacer{finder: r.finder, even: true, stands: make([][]byte, len(r.stands))}
	for i, stand := range r.stands {
		s := make([]byte, len(r.finder.needles[i]))
		for n := 0; n < len(s); n += copy(s[n:], stand) {
		}
		fitted.stands[i] = s
	}
	return fitted
}

// String returns s with its renderings replaced. It allocates only if there
// are any.
func (r *Replacer) String(s string) string {
	if r == nil {
		return s
	}
	m, found := r.finder.FindString(s, 0)
	if !found {
		return s
	}
	var out []byte
	from := 0
	for found {
		out = append(out, s[from:m.Start]...)
		out = append(out, r.stands[m.Needle]...)
		from = m.End
		m, found = r.finder.FindString(s, from)
	}
	return string(append(out, s[from:]...))
}

// Stream is a Replacer over one text that arrives in pieces. It holds back no
// more than the end of a piece that could be the beginning of a rendering.
type Stream struct {
	r    *Replacer
	held []byte
}

// Stream begins a text.
func (r *Replacer) Stream() *Stream { return &Stream{r: r} }

// Append appends to dst what piece, after all before it, makes certain.
func (s *Stream) Append(dst, piece []byte) []byte {
	if s.r == nil {
		return append(dst, piece...)
	}
	if len(s.held) > 0 {
		s.held = append(s.held, piece...)
		piece = s.held
	}
	f := s.r.finder
	from, tail := 0, f.Tail(piece, 0)
	for {
		m, found := f.Find(piece, from)
		if !found || m.Start >= tail {
			break
		}
		dst = append(dst, piece[from:m.Start]...)
		dst = append(dst, s.r.stands[m.Needle]...)
		from = m.End
		if from > tail {
			tail = f.Tail(piece, from)
		}
	}
	dst = append(dst, piece[from:tail]...)
	s.held = append(s.held[:0], piece[tail:]...)
	return dst
}

// Close appends to dst what was held back. The text has ended.
func (s *Stream) Close(dst []byte) []byte {
	if s.r == nil {
		return dst
	}
	held := s.held
	s.held = nil
	from := 0
	for {
		m, found := s.r.finder.Find(held, from)
		if !found {
			return append(dst, held[from:]...)
		}
		dst = append(dst, held[from:m.Start]...)
		dst = append(dst, s.r.stands[m.Needle]...)
		from = m.End
	}
}
