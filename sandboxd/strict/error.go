package strict

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/fault"
)

// describe says in the caller's terms what the JSON package found.
func describe(err error) error {
	if err == nil {
		return nil
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		if errors.Is(syntax, jsontext.ErrDuplicateName) {
			return fault.Invalid(Path(syntax.JSONPointer), "is there twice")
		}
		return fault.Invalid(Path(syntax.JSONPointer), "is not valid JSON at byte %d: %v", syntax.ByteOffset, syntax.Err)
	}
	var meaning *json.SemanticError
	if !errors.As(err, &meaning) {
		return fault.Invalid("", "%v", err)
	}
	path := Path(meaning.JSONPointer)
	var document *policy.Error
	if errors.As(err, &document) {
		return fault.Invalid(Join(path, document.Path), "%s", document.Msg)
	}
	if errors.Is(err, json.ErrUnknownName) {
		return fault.Invalid(path, "is not a known field")
	}
	return fault.Invalid(path, "%s", mismatch(meaning))
}

func mismatch(e *json.SemanticError) string {
	expected := "another value"
	if e.GoType != nil {
		expected = typeName(e.GoType)
	}
	found := ""
	switch e.JSONKind {
	case jsontext.KindNull:
		found = "null"
	case jsontext.KindNumber:
		found = "a number"
		if expected == typeName(reflect.TypeFor[int64]()) {
			found = "the number " + shorten(e.JSONValue)
		}
	case jsontext.KindString:
		found = "a string"
	case jsontext.KindTrue, jsontext.KindFalse:
		found = e.JSONKind.String()
	case jsontext.KindBeginObject:
		found = "an object"
	case jsontext.KindBeginArray:
		found = "a list"
	default:
		return "expected " + expected
	}
	return fmt.Sprintf("expected %s, found %s", expected, found)
}

// shorten keeps a long number out of an error.
func shorten(v jsontext.Value) string {
	const most = 24
	if len(v) > most {
		return string(v[:most]) + "…"
	}
	return string(v)
}

// typeName names the JSON type that a Go type is written as.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Pointer:
		return typeName(t.Elem())
	default:
		return "an object"
	}
}

// Path turns a JSON pointer into the form of fault.Error.Param, such as
// mounts[3].mount_path.
func Path(p jsontext.Pointer) string {
	path := ""
	for token := range p.Tokens() {
		if n, err := strconv.ParseUint(token, 10, 31); err == nil {
			path += fmt.Sprintf("[%d]", n)
		} else {
			path = Join(path, Key(token))
		}
	}
	return path
}

// Join puts a path below another.
func Join(above, below string) string {
	if above == "" || below == "" || strings.HasPrefix(below, "[") {
		return above + below
	}
	return above + "." + below
}

// Key is the path of a member of that name: the name, or ["NAME"] where that
// would make a path ambiguous or unreadable.
func Key(name string) string {
	const plain, most = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", 64
	switch {
	case len(name) > most:
		return "[" + strconv.QuoteToASCII(strings.ToValidUTF8(name[:most], "")+"…") + "]"
	case name == "" || strings.Trim(name, plain) != "":
		return "[" + strconv.QuoteToASCII(name) + "]"
	}
	return name
}
