package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// redacted is what every printer and encoder shows in place of a value.
const redacted = "[secret]"

// Value is the plaintext of one secret. Formatting, logging or encoding it
// yields a fixed text; only [Value.Reveal] returns the bytes. The zero Value is
// empty. Values are immutable and safe for concurrent use.
type Value struct {
	// A func, because printers that walk unexported fields by reflection
	// (fmt of a struct that holds a Value, test diffs) can't look into one.
	reveal func() []byte
}

var (
	_ fmt.Formatter  = Value{}
	_ fmt.Stringer   = Value{}
	_ fmt.GoStringer = Value{}
	_ slog.LogValuer = Value{}
)

// NewValue copies b.
func NewValue(b []byte) Value {
	b = append([]byte(nil), b...)
	return Value{reveal: func() []byte { return b }}
}

// Reveal returns the plaintext. Call it only where the bytes are put on the
// wire to a verified upstream, or encrypted. The caller must not modify the
// result.
func (v Value) Reveal() []byte {
	if v.reveal == nil {
		return nil
	}
	return v.reveal()
}

// IsEmpty reports whether the value has no bytes.
func (v Value) IsEmpty() bool { return len(v.Reveal()) == 0 }

// Format implements fmt.Formatter for every verb and flag.
func (v Value) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// String returns a fixed text.
func (v Value) String() string { return redacted }

// GoString returns a fixed text.
func (v Value) GoString() string { return redacted }

// LogValue implements slog.LogValuer with a fixed text.
func (v Value) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText implements encoding.TextMarshaler, and so JSON, XML and YAML,
// with a fixed text.
func (v Value) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalBinary implements encoding.BinaryMarshaler, and so gob, with a fixed
// text.
func (v Value) MarshalBinary() ([]byte, error) { return []byte(redacted), nil }
