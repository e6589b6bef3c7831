package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// MaxRules is the largest number of rules in one document (NP-2).
const MaxRules = 200

// MaxSize is the size of the largest document in bytes. It leaves room for
// MaxRules of the longest globs in the longest spelling.
const MaxSize = 1 << 20

// Action is what a rule does with a host that it matches. The zero value
// denies.
type Action uint8

// The actions.
const (
	Deny Action = iota
	Allow
)

// String returns "allow" or "deny", the spelling of documents.
func (a Action) String() string {
	switch a {
	case Allow:
		return "allow"
	case Deny:
		return "deny"
	}
	return fmt.Sprintf("action(%d)", uint8(a))
}

// Rule is one entry of a document: a host glob as it was sent and the action
// for hosts that it matches.
type Rule struct {
	HostGlob string
	Action   Action
}

// Document is a policy as its author wrote it. The zero value has no rules and
// denies every host; it is what an omitted or null policy means. Unrestricted
// is the empty object `{}`, which allows every host; it must not have rules.
//
// A Document encodes to the JSON it was parsed from, rule order and spelling
// of globs included, and decodes as strictly as [Parse] does. The zero value
// encodes as `{"version":"v1","rules":[]}`.
type Document struct {
	Unrestricted bool
	Rules        []Rule
}

// Equal reports whether two documents say the same: the same rules in the
// same order, globs compared as they were sent.
func (d Document) Equal(o Document) bool {
	return d.Unrestricted == o.Unrestricted && slices.Equal(d.Rules, o.Rules)
}

// wireRule is a rule as documents spell it.
type wireRule struct {
	Match struct {
		HostGlob string `json:"host_glob"`
	} `json:"match"`
	Action struct {
		Type string `json:"type"`
	} `json:"action"`
}

// MarshalJSON refuses, with an *[Error], a document that [Compile] refuses,
// so that what is stored can always be read back.
func (d Document) MarshalJSON() ([]byte, error) {
	if _, err := Compile(d); err != nil {
		return nil, err
	}
	if d.Unrestricted {
		return []byte("{}"), nil
	}
	wire := struct {
		Version string     `json:"version"`
		Rules   []wireRule `json:"rules"`
	}{Version: version, Rules: make([]wireRule, len(d.Rules))}
	for i, r := range d.Rules {
		wire.Rules[i].Match.HostGlob = r.HostGlob
		wire.Rules[i].Action.Type = r.Action.String()
	}
	return json.Marshal(wire)
}

// UnmarshalJSON is [Parse] for JSON alone; null sets the zero value, which
// denies. On an error, an *[Error], d is left as it was.
func (d *Document) UnmarshalJSON(data []byte) error {
	if err := checkSize(data); err != nil {
		return err
	}
	root, err := readJSON(data)
	if err != nil {
		return err
	}
	doc, err := decode(root)
	if err != nil {
		return err
	}
	*d = doc
	return nil
}

// Error says what is wrong with a policy document and where. Path is a JSON
// path below the document, such as "rules[3].match.host_glob"; it is empty for
// the document as a whole.
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

// Parse reads a policy document in JSON or YAML. It refuses unknown and
// duplicate keys, wrong types, more than [MaxRules] rules or [MaxSize] bytes and
// globs that can't be compiled; the error is an *[Error]. A document that is just null is the
// zero Document; empty data is an error, because a file that was cut short
// must not pass for a policy.
func Parse(data []byte) (Document, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return Document{}, emptyError()
	}
	if err := checkSize(data); err != nil {
		return Document{}, err
	}
	read := readYAML
	if json.Valid(data) {
		read = readJSON
	}
	root, err := read(data)
	if err != nil {
		return Document{}, err
	}
	return decode(root)
}

func checkSize(data []byte) error {
	if len(data) > MaxSize {
		return &Error{Msg: fmt.Sprintf("expected at most %d bytes, found %d", MaxSize, len(data))}
	}
	return nil
}

func emptyError() error {
	return &Error{Msg: `expected a policy, found nothing; write {version: v1, rules: []} to deny every host or {} to allow every host`}
}
