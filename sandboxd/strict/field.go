package strict

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Field is a member of an object that can be left out, be null, or have a
// value. The zero value is left out.
type Field[T any] struct {
	state state
	value T
}

type state uint8

const (
	omitted state = iota
	null
	set
)

// Value returns a field with a value.
func Value[T any](v T) Field[T] { return Field[T]{state: set, value: v} }

// Null returns a field that is null.
func Null[T any]() Field[T] { return Field[T]{state: null} }

// Get returns the value, and whether there is one.
func (f Field[T]) Get() (T, bool) { return f.value, f.state == set }

// Or returns the value, or instead when there is none.
func (f Field[T]) Or(instead T) T {
	if f.state == set {
		return f.value
	}
	return instead
}

// IsNull reports whether the field was null.
func (f Field[T]) IsNull() bool { return f.state == null }

// IsZero reports whether the field was left out; encoders with omitzero leave
// it out again.
func (f Field[T]) IsZero() bool { return f.state == omitted }

func (*Field[T]) mayBeNull() {}

// UnmarshalJSONFrom implements json.UnmarshalerFrom for [Decode].
func (f *Field[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == jsontext.KindNull {
		*f = Null[T]()
		return d.SkipValue()
	}
	*f = Field[T]{state: set}
	return json.UnmarshalDecode(d, &f.value)
}

// MarshalJSON writes the value, or null where there is none.
func (f Field[T]) MarshalJSON() ([]byte, error) {
	if f.state != set {
		return []byte("null"), nil
	}
	return json.Marshal(f.value)
}
