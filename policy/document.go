package policy

// MaxRules is the largest number of rules in one document (NP-2).
const MaxRules = 200

// Action is what a rule does with a host that it matches. The zero value
// denies.
type Action uint8

const (
	Deny Action = iota
	Allow
)

// Rule is one entry of a document: a host glob as it was sent and the action
// for hosts that it matches.
type Rule struct {
	HostGlob string
	Action   Action
}

// Document is a policy as its author wrote it, already validated. The zero
// value has no rules and denies every host; it is what an omitted or null
// policy means. Unrestricted is the empty object `{}`, which allows every
// host.
//
// A Document encodes to the JSON it was parsed from, rule order and spelling
// of globs included.
type Document struct {
	Unrestricted bool
	Rules        []Rule
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
// duplicate keys, wrong types, more than [MaxRules] rules and globs that can't
// be compiled; the error is an *[Error].
func Parse(data []byte) (Document, error) {
	return Document{}, &Error{Msg: "not implemented"}
}
