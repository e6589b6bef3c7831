package wire

import "bytes"

// isToken reports whether b is a token (RFC 9110 §5.6.2).
func isToken(b []byte) bool {
	for _, c := range b {
		if !isTokenByte(c) {
			return false
		}
	}
	return len(b) > 0
}

func isTokenByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) >= 0
}

// is compares without regard to ASCII case; lower is lower case.
func is(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// listHas reports whether a comma-separated list holds an element.
func listHas(list []byte, lower string) bool {
	for part := range bytes.SplitSeq(list, []byte{','}) {
		if is(bytes.Trim(part, " \t"), lower) {
			return true
		}
	}
	return false
}
