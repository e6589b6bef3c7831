// Package strict decodes the documents that the edge is given, JSON from the
// control socket and YAML or JSON from files, and refuses whatever the target
// doesn't name: unknown and duplicate keys, keys in another case, wrong types,
// and anything after the first document.
//
// Security promise: a misspelt key is never ignored, so no restriction is lost
// by a typing mistake.
package strict

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Error says what is wrong with a document and where. Path is a JSON path such
// as "boundaries[0].bindings[1].host"; it is empty for the document as a whole.
type Error struct {
	Path string
	Msg  string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Msg
	}
	return e.Path + ": " + e.Msg
}

// JSON decodes one JSON document into v. Its errors are *Error, or whatever
// an UnmarshalJSON method of v returned.
func JSON(data []byte, v any) error {
	faults, err := json.UnmarshalStrict(data, v)
	if err != nil {
		return describe(err)
	}
	if len(faults) > 0 {
		return fault(faults[0])
	}
	return nil
}

// YAML decodes one YAML document, or a JSON one, into v by its json tags. Its
// errors are those of [JSON].
func YAML(data []byte, v any) error {
	if err := single(data); err != nil {
		return err
	}
	asJSON, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return &Error{Msg: cleanYAML(err)}
	}
	return JSON(asJSON, v)
}

// single refuses a second document: the YAML library would ignore it.
func single(data []byte) error {
	dec := yamlv2.NewDecoder(bytes.NewReader(data))
	var first, second any
	if err := dec.Decode(&first); err != nil && !errors.Is(err, io.EOF) {
		return &Error{Msg: cleanYAML(err)}
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return &Error{Msg: "expected one document, found more"}
	}
	return nil
}

func cleanYAML(err error) string {
	msg := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	return strings.Join(strings.Fields(msg), " ")
}

var quotedField = regexp.MustCompile(`^(unknown|duplicate) field "(.*)"$`)

// fault turns a strictness error of sigs.k8s.io/json, which has no type of its
// own to look into, into an *Error.
func fault(err error) error {
	m := quotedField.FindStringSubmatch(err.Error())
	if m == nil {
		return &Error{Msg: err.Error()}
	}
	return &Error{Path: m[2], Msg: m[1] + " key"}
}

func describe(err error) error {
	var mismatch *stdjson.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return &Error{Path: mismatch.Field, Msg: fmt.Sprintf("expected %s, found %s", kind(mismatch), mismatch.Value)}
	}
	if syntax, offset := json.SyntaxErrorOffset(err); syntax {
		return &Error{Msg: fmt.Sprintf("not valid JSON at byte %d: %v", offset, err)}
	}
	return err
}

// kind names the JSON type that a Go type is written as.
func kind(e *stdjson.UnmarshalTypeError) string {
	switch e.Type.Kind().String() {
	case "struct", "map":
		return "an object"
	case "slice", "array":
		return "a list"
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	default:
		return "a number (" + e.Type.Kind().String() + ")"
	}
}
