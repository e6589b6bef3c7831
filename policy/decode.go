package policy

import (
	"fmt"
	"strings"
)

// version is the only version of documents so far.
const version = "v1"

// decode checks a tree against the shape of a document, down to its globs.
func decode(root node) (Document, error) {
	if root.kind == kindNull {
		return Document{}, nil
	}
	if err := root.want("", kindObject, "a policy"); err != nil {
		return Document{}, err
	}
	if len(root.members) == 0 {
		return Document{Unrestricted: true}, nil
	}
	if err := root.only("", "version", "rules"); err != nil {
		return Document{}, err
	}
	if err := decodeVersion(root); err != nil {
		return Document{}, err
	}
	list, err := root.member("", "rules", kindArray, "a list of rules")
	if err != nil {
		return Document{}, err
	}
	if n := len(list.items); n > MaxRules {
		return Document{}, tooManyRules(n)
	}
	doc := Document{Rules: make([]Rule, 0, len(list.items))}
	for i, item := range list.items {
		rule, err := decodeRule(rulePath(i), item)
		if err != nil {
			return Document{}, err
		}
		doc.Rules = append(doc.Rules, rule)
	}
	if _, err := Compile(doc); err != nil {
		return Document{}, err
	}
	return doc, nil
}

func decodeVersion(root node) error {
	v, err := root.member("", "version", kindString, `"v1"`)
	if err != nil {
		return err
	}
	if v.text != version {
		return &Error{Path: "version", Msg: fmt.Sprintf(`expected "v1", found %s`, quote(v.text))}
	}
	return nil
}

func decodeRule(path string, n node) (Rule, error) {
	if err := n.want(path, kindObject, "a rule"); err != nil {
		return Rule{}, err
	}
	if err := n.only(path, "match", "action"); err != nil {
		return Rule{}, err
	}
	glob, err := decodeOnly(path, n, "match", "host_glob", "a host glob")
	if err != nil {
		return Rule{}, err
	}
	name, err := decodeOnly(path, n, "action", "type", `"allow" or "deny"`)
	if err != nil {
		return Rule{}, err
	}
	for _, action := range []Action{Deny, Allow} {
		if name == action.String() {
			return Rule{HostGlob: glob, Action: action}, nil
		}
	}
	return Rule{}, &Error{Path: path + ".action.type", Msg: fmt.Sprintf(`expected "allow" or "deny", found %s`, quote(name))}
}

// decodeOnly returns the string at path.outer.inner, where outer is an object
// with that one member.
func decodeOnly(path string, n node, outer, inner, what string) (string, error) {
	object, err := n.member(path, outer, kindObject, "an object with "+inner)
	if err != nil {
		return "", err
	}
	path = join(path, outer)
	if err := object.only(path, inner); err != nil {
		return "", err
	}
	leaf, err := object.member(path, inner, kindString, what)
	return leaf.text, err
}

func tooManyRules(n int) error {
	return &Error{Path: "rules", Msg: fmt.Sprintf("expected at most %d rules, found %d", MaxRules, n)}
}

func rulePath(i int) string { return fmt.Sprintf("rules[%d]", i) }

func join(path, key string) string {
	// A key that would make the path ambiguous, or a log line unreadable, is
	// quoted.
	if key == "" || strings.Trim(key, keyBytes) != "" || len(key) > maxLabelLen {
		return path + "[" + quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

const keyBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
