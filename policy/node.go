package policy

import "fmt"

// kind is the type of a value in JSON's terms.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// node is a value as it was written, which Go's own decoders don't keep: each
// member of an object once, in order, known or not.
type node struct {
	kind    kind
	text    string // of a string; of a number or boolean as written
	items   []node
	members []member
}

type member struct {
	key   string
	value node
}

// Bounds on what is read before its shape is checked, for a value takes far
// more memory than its text. A document needs five levels, two members per
// object and MaxRules items.
const (
	maxDepth   = 32
	maxMembers = 16
	maxItems   = 4 * MaxRules
)

func tooDeep(path string) error {
	return &Error{Path: path, Msg: fmt.Sprintf("expected at most %d levels of nesting", maxDepth)}
}

// add appends a member and refuses a second one with the same key: a reader
// that keeps the last could be shown another policy than a reader that keeps
// the first.
func (n *node) add(path, key string, value node) error {
	if n.get(key) != nil {
		return &Error{Path: join(path, key), Msg: "duplicate key"}
	}
	if len(n.members) == maxMembers {
		return &Error{Path: path, Msg: fmt.Sprintf("expected at most %d members", maxMembers)}
	}
	n.members = append(n.members, member{key, value})
	return nil
}

// push appends an item.
func (n *node) push(path string, value node) error {
	if len(n.items) == maxItems {
		return &Error{Path: path, Msg: fmt.Sprintf("expected at most %d items", maxItems)}
	}
	n.items = append(n.items, value)
	return nil
}

func (n *node) get(key string) *node {
	for i := range n.members {
		if n.members[i].key == key {
			return &n.members[i].value
		}
	}
	return nil
}

// want checks the kind of n; what names the expected value in the error.
func (n *node) want(path string, k kind, what string) error {
	if n.kind == k {
		return nil
	}
	if k == kindObject || k == kindArray {
		what += " (" + k.String() + ")"
	}
	found := n.kind.String()
	if n.kind == kindNumber || n.kind == kindBool {
		found += " (" + n.text + ")"
		if k == kindString {
			found += "; put it in quotes"
		}
	}
	return &Error{Path: path, Msg: fmt.Sprintf("expected %s, found %s", what, found)}
}

// only refuses members other than those named.
func (n *node) only(path string, keys ...string) error {
	for _, m := range n.members {
		known := false
		for _, k := range keys {
			known = known || m.key == k
		}
		if !known {
			return &Error{Path: join(path, m.key), Msg: "unknown field; expected " + list(keys)}
		}
	}
	return nil
}

// member returns a member that must be there and be of kind k.
func (n *node) member(path, key string, k kind, what string) (node, error) {
	v := n.get(key)
	if v == nil {
		return node{}, &Error{Path: join(path, key), Msg: "missing; expected " + what}
	}
	return *v, v.want(join(path, key), k, what)
}

func list(keys []string) string {
	if len(keys) == 1 {
		return "only " + keys[0]
	}
	return "only " + keys[0] + " and " + keys[1]
}
