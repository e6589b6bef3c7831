package recorded

import (
	"bytes"
	"encoding/json"
)

// parse reads the members of one JSON object up to the last one that it needs.
// It checks no more of the line than it has to: the log is ours, and a torn
// line shows at its end.
func parse(line []byte, c *Crossing) bool {
	*c = Crossing{}
	if len(line) < 2 || line[0] != '{' || line[len(line)-1] != '}' {
		return false
	}
	for at := 1; at < len(line); {
		key, next, ok := str(line, space(line, at))
		if !ok {
			break
		}
		at = space(line, next)
		if at >= len(line) || line[at] != ':' {
			return false
		}
		at = space(line, at+1)
		if field := c.field(key); field != nil {
			if *field, at, ok = text(line, at); !ok {
				return false
			}
			if c.complete() {
				return true
			}
		} else if at = skip(line, at); at < 0 {
			return false
		}
		if at = space(line, at); at >= len(line) || line[at] != ',' {
			break
		}
		at++
	}
	return c.Verdict != nil && c.Host != nil
}

// field returns where the value of a member belongs, or nil.
func (c *Crossing) field(key []byte) *[]byte {
	switch string(key) {
	case "boundary":
		return &c.Boundary
	case "host":
		return &c.Host
	case "verdict":
		return &c.Verdict
	case "reason":
		return &c.Reason
	}
	return nil
}

func (c *Crossing) complete() bool {
	return c.Reason != nil && c.Verdict != nil && c.Host != nil && c.Boundary != nil
}

func space(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\t') {
		at++
	}
	return at
}

// str returns the inside of the string at a place, escapes as they are, and
// what follows it.
func str(b []byte, at int) (inside []byte, next int, ok bool) {
	if at >= len(b) || b[at] != '"' {
		return nil, 0, false
	}
	from := at + 1
	for i := from; ; {
		quote := bytes.IndexByte(b[i:], '"')
		if quote < 0 {
			return nil, 0, false
		}
		i += quote
		slashes := 0
		for b[i-1-slashes] == '\\' { // ends at the opening quote
			slashes++
		}
		if slashes%2 == 0 {
			return b[from:i], i + 1, true
		}
		i++
	}
}

// text returns the string at a place without escapes.
func text(b []byte, at int) (value []byte, next int, ok bool) {
	value, next, ok = str(b, at)
	if ok && bytes.IndexByte(value, '\\') >= 0 {
		var s string
		if json.Unmarshal(b[at:next], &s) != nil {
			return nil, 0, false
		}
		value = []byte(s)
	}
	return value, next, ok
}

// skip returns what follows the value at a place, or -1.
func skip(b []byte, at int) int {
	depth := 0
	for at < len(b) {
		switch b[at] {
		case '"':
			_, next, ok := str(b, at)
			if !ok {
				return -1
			}
			at = next - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return at
			}
		case ',':
			if depth == 0 {
				return at
			}
		}
		at++
	}
	return -1
}
