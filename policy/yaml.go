package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readYAML reads one YAML document. It takes the part of YAML that JSON has
// too: anchors, aliases, merge keys and tags are refused, for a policy must
// say at each place what it means.
func readYAML(data []byte) (node, error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return node{}, emptyError()
	case err != nil:
		return node{}, yamlError(err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return node{}, &Error{Msg: "expected one YAML document, found a second one or text after it"}
	}
	return yamlValue(doc.Content[0], "", 0)
}

func yamlError(err error) error {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	// YAML reads an unquoted leading star as an alias: the likeliest mistake
	// in a file of globs.
	if strings.Contains(msg, "alphabetic or numeric") || strings.Contains(msg, "unknown anchor") {
		msg += ` (a glob that starts with * needs quotes: "*.example.com")`
	}
	return &Error{Msg: "expected YAML or JSON: " + msg}
}

func yamlValue(y *yaml.Node, path string, depth int) (node, error) {
	if depth > maxDepth {
		return node{}, tooDeep(path)
	}
	if y.Kind == yaml.AliasNode || y.Anchor != "" {
		return node{}, &Error{Path: path, Msg: fmt.Sprintf(`line %d: anchors and aliases are not allowed; a glob that starts with * needs quotes`, y.Line)}
	}
	if y.Style&yaml.TaggedStyle != 0 {
		return node{}, &Error{Path: path, Msg: fmt.Sprintf("line %d: tags are not allowed", y.Line)}
	}
	if y.Kind == yaml.MappingNode {
		return yamlMapping(y, path, depth)
	}
	if y.Kind == yaml.SequenceNode {
		return yamlSequence(y, path, depth)
	}
	return yamlScalar(y), nil
}

func yamlSequence(y *yaml.Node, path string, depth int) (node, error) {
	n := node{kind: kindArray}
	for i, item := range y.Content {
		value, err := yamlValue(item, fmt.Sprintf("%s[%d]", path, i), depth+1)
		if err != nil {
			return node{}, err
		}
		if err := n.push(path, value); err != nil {
			return node{}, err
		}
	}
	return n, nil
}

func yamlMapping(y *yaml.Node, path string, depth int) (node, error) {
	n := node{kind: kindObject}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			return node{}, &Error{Path: path, Msg: fmt.Sprintf("line %d: expected a plain name as key", key.Line)}
		}
		value, err := yamlValue(y.Content[i+1], join(path, key.Value), depth+1)
		if err != nil {
			return node{}, err
		}
		if err := n.add(path, key.Value, value); err != nil {
			return node{}, err
		}
	}
	return n, nil
}

func yamlScalar(y *yaml.Node) node {
	switch y.ShortTag() {
	case "!!null":
		return node{kind: kindNull}
	case "!!bool":
		return node{kind: kindBool, text: y.Value}
	case "!!int", "!!float":
		return node{kind: kindNumber, text: y.Value}
	}
	return node{kind: kindString, text: y.Value}
}
