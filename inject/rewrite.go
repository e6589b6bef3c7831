package inject

import (
	"fmt"
	"net/http"
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

// sent is how a request asks for a secret.
type sent struct {
	asks  bool
	basic bool   // in credentials of Basic
	text  string // them, decoded
}

// nothing: a request that doesn't ask.
var nothing sent

// needs says how r asks for what b writes, and so whether its secret is read at
// all.
func (b *bound) needs(r *http.Request) sent {
	values := r.Header[b.header]
	switch {
	case b.kind == KindAWS:
		return sent{asks: b.signedFor(r)}
	case b.mode == ModeSet, b.kind == KindCertificate:
		return sent{asks: true}
	case len(values) != 1:
		return nothing
	case strings.Contains(values[0], b.placeholder):
		return sent{asks: true}
	}
	text, ok := decodeBasic(values[0])
	if !ok || !strings.Contains(text, b.placeholder) {
		return nothing
	}
	return sent{asks: true, basic: true, text: text}
}

// rewrite returns what the header of b carries in place of value, in which the
// placeholder was found as s says; ModeSet ignores it.
func (b *bound) rewrite(value string, s sent, with secret.Value) (string, error) {
	switch {
	case b.mode == ModeSet:
		return b.substitute(b.format, valueMark, with)
	case s.basic:
		return b.rewriteBasic(s.text, with)
	case strings.HasPrefix(value, signedByAWS):
		return "", &RequestError{b.header, "signed with a placeholder: that takes a binding of kind " + string(KindAWS)}
	default:
		return b.substitute(value, b.placeholder, with)
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
func (b *bound) rewriteBasic(text string, with secret.Value) (string, error) {
	if err := secret.CheckLine(with.Reveal()); err != nil {
		return "", b.unusable(err)
	}
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
	return fmt.Errorf("put secret %s into header %s: %w", b.secret.ref, b.header, err)
}
