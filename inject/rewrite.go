package inject

import (
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/inject/secret"
)

// maxHeader bounds a rewritten value in bytes: it holds the largest secret in
// base64 with room to spare. Without it, a header full of placeholders would
// grow by the size of the secret for each.
const maxHeader = 2 * secret.MaxValue

// RequestError: a request to a bound destination is such that no header could
// be rewritten without guessing. It is the sandbox's fault, not a source's.
type RequestError struct {
	Header  string // empty if it isn't about one
	Problem string
}

func (e *RequestError) Error() string {
	if e.Header == "" {
		return e.Problem
	}
	return "header " + e.Header + ": " + e.Problem
}

// needs reports whether b writes its header in a request that carries values
// in it, and so whether its secret is read at all.
func (b *bound) needs(values []string) bool {
	if b.mode == ModeSet {
		return true
	}
	if len(values) != 1 {
		return false
	}
	if strings.Contains(values[0], b.placeholder) {
		return true
	}
	text, ok := decodeBasic(values[0])
	return ok && strings.Contains(text, b.placeholder)
}

// rewrite returns what the header of b carries in place of value. Only a value
// for which needs was true may be passed; ModeSet ignores it.
func (b *bound) rewrite(value string, with secret.Value) (string, error) {
	switch {
	case b.mode == ModeSet:
		return b.substitute(b.format, valueMark, with)
	case strings.Contains(value, b.placeholder):
		return b.substitute(value, b.placeholder, with)
	default:
		return b.rewriteBasic(value, with)
	}
}

// substitute replaces mark in the literal text of a header.
func (b *bound) substitute(text, mark string, with secret.Value) (string, error) {
	if err := secret.CheckHeader(with.Reveal()); err != nil {
		return "", b.unusable(err)
	}
	return b.replace(text, mark, string(with.Reveal()))
}

// rewriteBasic replaces the placeholder in the user and the password.
func (b *bound) rewriteBasic(value string, with secret.Value) (string, error) {
	if err := secret.CheckLine(with.Reveal()); err != nil {
		return "", b.unusable(err)
	}
	text, _ := decodeBasic(value)
	plain := string(with.Reveal())
	user, _, colon := strings.Cut(text, ":")
	if i := strings.IndexByte(plain, ':'); i >= 0 && colon && strings.Contains(user, b.placeholder) {
		// The origin would cut the secret in two (RFC 7617 §2).
		return "", b.unusable(&secret.ValueError{Offset: i, Problem: "a colon, which no user name can have,"})
	}
	text, err := b.replace(text, b.placeholder, plain)
	if err != nil {
		return "", err
	}
	return encodeBasic(text), nil
}

func (b *bound) replace(text, mark, with string) (string, error) {
	if grown := len(text) + strings.Count(text, mark)*(len(with)-len(mark)); grown > maxHeader {
		return "", &RequestError{b.header, fmt.Sprintf("longer than %d bytes with its secrets", maxHeader)}
	}
	return strings.ReplaceAll(text, mark, with), nil
}

// unusable says which secret can't be put where; err holds no value.
func (b *bound) unusable(err error) error {
	return fmt.Errorf("put secret %s into header %s: %w", b.ref, b.header, err)
}
