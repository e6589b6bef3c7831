package secret

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// MaxValue is the largest value in bytes that a source accepts (SI-29).
const MaxValue = 64 << 10

// ValueError says why a value can't be used, and where, never what it is. It
// is an [ErrUnavailable].
type ValueError struct {
	// Offset is the index of the first offending byte, or -1 if the problem is
	// not at one byte.
	Offset  int
	Problem string
}

func (e *ValueError) Error() string {
	if e.Offset < 0 {
		return "value " + e.Problem
	}
	return fmt.Sprintf("value has %s at byte %d", e.Problem, e.Offset)
}

// Unwrap returns ErrUnavailable: what can't be sent is as good as not there.
func (e *ValueError) Unwrap() error { return ErrUnavailable }

// CheckSize refuses empty values and those above [MaxValue], with a
// *[ValueError].
func CheckSize(value []byte) error {
	switch {
	case len(value) == 0:
		return &ValueError{-1, "is empty"}
	case len(value) > MaxValue:
		return &ValueError{-1, fmt.Sprintf("is longer than %d bytes", MaxValue)}
	}
	return nil
}

// CheckLine refuses what no header can carry in any encoding: CR, LF, NUL and
// the other control characters (RFC 9110 §5.5, RFC 7617 §2), with a
// *[ValueError].
func CheckLine(value []byte) error {
	for i, c := range value {
		switch {
		case c == '\n':
			return &ValueError{i, "a line feed"}
		case c == '\r':
			return &ValueError{i, "a carriage return"}
		case c == 0:
			return &ValueError{i, "a NUL"}
		case c < ' ' || c == 0x7f:
			return &ValueError{i, "a control character"}
		}
	}
	return nil
}

// CheckText refuses NUL alone, with a *[ValueError].
func CheckText(value []byte) error {
	if i := bytes.IndexByte(value, 0); i >= 0 {
		return &ValueError{i, "a NUL"}
	}
	return nil
}

// CheckHeader refuses what a header can't carry exactly as it is: all that
// [CheckLine] refuses, bytes outside ASCII, and white space at either end,
// which recipients strip. The error is a *[ValueError].
func CheckHeader(value []byte) error {
	if err := CheckLine(value); err != nil {
		return err
	}
	for i, c := range value {
		if c >= utf8.RuneSelf {
			return &ValueError{i, "a byte outside ASCII"}
		}
	}
	if len(value) == 0 {
		return &ValueError{-1, "is empty"}
	}
	if value[0] == ' ' {
		return &ValueError{0, "a space"}
	}
	if last := len(value) - 1; value[last] == ' ' {
		return &ValueError{last, "a space"}
	}
	return nil
}

// TrimNewline drops one trailing line end, LF or CR LF, as editors and echo
// add it to a file that holds one value.
func TrimNewline(b []byte) []byte {
	trimmed, ok := bytes.CutSuffix(b, []byte("\n"))
	if !ok {
		return b
	}
	return bytes.TrimSuffix(trimmed, []byte("\r"))
}
