package inject

import "strings"

// rounds bounds how often escapes are undone: some stacks escape twice.
const rounds = 3

// inspect visits every placeholder and secret in text, as it stands and with
// percent- and JSON-escapes undone. Find.Where is left to the caller.
func (s *Set) inspect(text string, visit func(Find)) {
	if text == "" {
		return
	}
	for range rounds {
		s.inspectPlain(text, visit)
		if strings.IndexByte(text, '%') < 0 && strings.IndexByte(text, '\\') < 0 {
			return
		}
		text = unescape(text)
	}
	s.inspectPlain(text, visit)
}

func (s *Set) inspectPlain(text string, visit func(Find)) {
	s.issued.each(text, func(o *owner) { visit(s.judge(o)) })
	if env, found := s.values.in(text); found {
		visit(Find{Kind: FoundSecret, Env: env})
	}
}

// judge says what a placeholder means in this boundary.
func (s *Set) judge(o *owner) Find {
	switch {
	case o.boundary != s.id:
		return Find{Kind: FoundStolen, Env: o.env, Owner: o.boundary}
	case o.honey:
		return Find{Kind: FoundHoney, Env: o.env}
	default:
		return Find{Kind: FoundPlaceholder, Env: o.env}
	}
}

// unescape undoes percent- and JSON-escapes where they are well-formed and
// keeps the rest, as lenient servers do; net/url gives up at the first error.
func unescape(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		c, n := escapeAt(text[i:])
		b.WriteByte(c)
		i += n
	}
	return b.String()
}

// escapeAt returns the byte that text, which isn't empty, begins with, and how
// many bytes stand for it.
func escapeAt[T string | []byte](text T) (c byte, n int) {
	switch {
	case text[0] == '%' && len(text) >= 3:
		if high, low := unhex(text[1]), unhex(text[2]); high >= 0 && low >= 0 {
			return byte(high<<4 | low), 3 //nolint:gosec // two hex digits
		}
	case text[0] == '\\' && len(text) >= 2 && text[1] != 'u':
		switch text[1] {
		case '"', '\\', '/':
			return text[1], 2
		}
	case text[0] == '\\' && len(text) >= 6:
		v := 0
		for _, c := range []byte(text[2:6]) {
			d := unhex(c)
			if d < 0 {
				return text[0], 1
			}
			v = v<<4 | d
		}
		if v < 0x80 { // no placeholder and no header holds anything else
			return byte(v), 6
		}
	}
	return text[0], 1
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	default:
		return -1
	}
}
