package inject

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// UnmarshalJSON decodes one binding strictly. Errors are a *[BindingError]
// whose path is the key. It checks shape only; [Compile] checks the rest.
func (b *Binding) UnmarshalJSON(data []byte) error {
	fields, err := b.decode(data)
	if err != nil {
		return err
	}
	required := []string{"env", "host", "secret"}
	if b.Kind == KindHoney {
		required = required[:1]
	}
	return require(fields, required...)
}

// decode decodes the shape of a binding and returns its fields.
func (b *Binding) decode(data []byte) (map[string]any, error) {
	*b = Binding{}
	fields := map[string]any{
		"env": &b.Env, "host": &b.Host, "port": &b.Port, "header": &b.Header,
		"mode": &b.Mode, "format": &b.Format, "secret": &b.Secret,
		"allow_cookie": &b.AllowCookie, "kind": &b.Kind, "shape": &b.Shape, "pattern": &b.Pattern,
		"match": &b.Match, "on_misuse": &b.OnMisuse, "in_body": &b.InBody,
		"aws": &b.AWS, "hmac": &b.HMAC, "oauth2": &b.OAuth2, "google": &b.Google, "budget": &b.Budget,
	}
	if err := decodeObject(data, fields); err != nil {
		return nil, err
	}
	if b.Kind == KindGit {
		return nil, &BindingError{"kind", "want one of " + kindNames()}
	}
	return fields, nil
}

// require refuses fields that are empty.
func require(fields map[string]any, keys ...string) error {
	for _, key := range keys {
		if *fields[key].(*string) == "" {
			return &BindingError{key, "required"}
		}
	}
	return nil
}

// decodeObject decodes a JSON object into the pointers of fields. Unlike
// encoding/json it refuses duplicate keys, nulls and keys in another case.
func decodeObject(data []byte, fields map[string]any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return &BindingError{"", "want an object"}
	}
	seen := make(map[string]bool, len(fields))
	for dec.More() {
		token, err := dec.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return &BindingError{"", "malformed JSON"}
		}
		field, known := fields[key]
		switch {
		case !known:
			return &BindingError{key, "unknown key"}
		case seen[key]:
			return &BindingError{key, "duplicate key"}
		}
		seen[key] = true
		if err := decodeField(dec, field); err != nil {
			return below(key, err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return &BindingError{"", "malformed JSON"}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &BindingError{"", "trailing data"}
	}
	return nil
}

// decodeField decodes one value. Its errors never quote the input.
func decodeField(dec *json.Decoder, into any) error {
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return errors.New("malformed JSON")
	}
	err := json.Unmarshal(raw, into)
	var inner *BindingError
	if errors.As(err, &inner) {
		return inner // of an object inside
	}
	if err != nil || string(raw) == "null" {
		return fmt.Errorf("want %s", typeName(into))
	}
	return nil
}

func typeName(field any) string {
	switch field.(type) {
	case *uint16:
		return "a port, 1 to 65535"
	case *bool:
		return "true or false"
	case *[]string:
		return "an array of strings"
	case *map[string]int:
		return "an object of whole numbers"
	case *map[string]string:
		return "an object of strings"
	case *int:
		return "a whole number"
	case **Match, **AWS, **HMAC, **OAuth2, **ServiceAccount, **Budget:
		return "an object"
	default:
		return "a string"
	}
}

// ParseBindings decodes a JSON array of bindings strictly and checks each. The
// error is a *[BindingError] whose path starts with "bindings[i]".
func ParseBindings(data []byte) ([]Binding, error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(data, &elements); err != nil {
		return nil, &BindingError{"bindings", "want an array of objects"}
	}
	bindings := make([]Binding, len(elements))
	for i, element := range elements {
		if err := bindings[i].UnmarshalJSON(element); err != nil {
			return nil, atIndex(i, err)
		}
	}
	if _, err := Compile("", bindings, Key{}); err != nil {
		return nil, err
	}
	return bindings, nil
}

// atIndex puts the index of a binding before the path of its error.
func atIndex(i int, err error) *BindingError {
	return below(fmt.Sprintf("bindings[%d]", i), err)
}

// below puts path before the path of an error.
func below(path string, err error) *BindingError {
	var be *BindingError
	if !errors.As(err, &be) {
		return &BindingError{path, err.Error()}
	}
	if be.Path != "" {
		path += "." + be.Path
	}
	return &BindingError{path, be.Msg}
}
