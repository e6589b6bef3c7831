// Package strict decodes the JSON bodies of the control API: every member is
// known and there once, has the type that it should have, and is told apart
// from one that is null or left out.
//
// It decodes with the second version of Go's JSON package, which, unlike the
// first, says where an error is and hands that on through types that decode
// themselves. Errors are *fault.Error with the path of what is wrong. The
// package does no I/O; the API and package environment call it.
//
// Security promise: what a client misspelt or sent twice is refused, never
// dropped, so no restriction is lost by a typing mistake.
package strict

import (
	"errors"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads one JSON value into v, a pointer to a value whose json tags name
// all members that may be there. It refuses unknown and duplicate members at
// any depth, wrong types, text after the value and text that isn't UTF-8. Null
// is refused too, but where the type is a [Field]. The error is a *fault.Error
// of code InvalidRequest.
func Decode(data []byte, v any) error {
	return describe(json.Unmarshal(data, v, strictly))
}

var strictly = json.JoinOptions(
	json.RejectUnknownMembers(true),
	json.WithUnmarshalers(json.UnmarshalFromFunc(refuseNull)),
)

var errNull = errors.New("null")

// refuseNull sees every value before its type does: to the JSON package, null
// is the zero value of any type.
func refuseNull(d *jsontext.Decoder, v any) error {
	if _, ok := v.(interface{ mayBeNull() }); !ok && d.PeekKind() == jsontext.KindNull {
		return &json.SemanticError{JSONKind: jsontext.KindNull, GoType: reflect.TypeOf(v).Elem(), Err: errNull}
	}
	return errors.ErrUnsupported
}
