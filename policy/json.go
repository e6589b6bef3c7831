package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// readJSON reads one JSON value and refuses what encoding/json would mend in
// silence: duplicate keys, text after the value, invalid UTF-8.
func readJSON(data []byte) (node, error) {
	if !utf8.Valid(data) {
		return node{}, &Error{Msg: "expected UTF-8 text"}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	root, err := jsonValue(d, "", 0)
	if err != nil {
		return node{}, jsonError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return node{}, &Error{Msg: "expected one JSON value, found text after it"}
	}
	return root, nil
}

func jsonError(err error) error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	return &Error{Msg: fmt.Sprintf("expected JSON: %v", err)}
}

func jsonValue(d *json.Decoder, path string, depth int) (node, error) {
	if depth > maxDepth {
		return node{}, tooDeep(path)
	}
	token, err := d.Token()
	if err != nil {
		return node{}, err
	}
	switch t := token.(type) {
	case bool:
		return node{kind: kindBool, text: fmt.Sprint(t)}, nil
	case json.Number:
		return node{kind: kindNumber, text: t.String()}, nil
	case string:
		return node{kind: kindString, text: t}, nil
	case json.Delim:
		if t == '{' {
			return jsonObject(d, path, depth)
		}
		return jsonArray(d, path, depth)
	}
	return node{kind: kindNull}, nil
}

func jsonObject(d *json.Decoder, path string, depth int) (node, error) {
	n := node{kind: kindObject}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return node{}, err
		}
		key, _ := token.(string) // a decoder returns nothing else for a key
		value, err := jsonValue(d, join(path, key), depth+1)
		if err != nil {
			return node{}, err
		}
		if err := n.add(path, key, value); err != nil {
			return node{}, err
		}
	}
	_, err := d.Token()
	return n, err
}

func jsonArray(d *json.Decoder, path string, depth int) (node, error) {
	n := node{kind: kindArray}
	for d.More() {
		value, err := jsonValue(d, fmt.Sprintf("%s[%d]", path, len(n.items)), depth+1)
		if err != nil {
			return node{}, err
		}
		if err := n.push(path, value); err != nil {
			return node{}, err
		}
	}
	_, err := d.Token()
	return n, err
}
