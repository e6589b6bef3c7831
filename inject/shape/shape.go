// Package shape makes placeholders that look like the credentials they stand
// for: clients that check prefix, length, alphabet or checksum before they send
// a key take them.
//
// Promise: a placeholder tells nothing about its secret, can't be guessed, and
// shows a human who reads it that it is none (decision 20): each that a
// provider's alphabet permits begins with the name of this product.
package shape

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"strings"
)

// Shape is how a placeholder looks. It is immutable; the zero Shape makes
// nothing.
type Shape struct {
	name  string
	parts []part
}

// part is a fixed text, or count digits of an alphabet, or a checksum.
type part struct {
	text     string
	alphabet string
	count    int
	check    bool // base62 CRC-32 of what stands after the provider's prefix
}

const (
	digits  = "0123456789"
	lower   = "abcdefghijklmnopqrstuvwxyz"
	upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnum   = digits + upper + lower
	base32  = "abcdefghijklmnopqrstuvwxyz234567"
	upper32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// Default is visibly no credential, and its 130 bits can't be guessed. Lower
// case alone, so that it survives whatever folds case.
var Default = Shape{"sallyport", []part{{text: "sp_ph_"}, {alphabet: base32, count: 26}}}

// Custom is the name of the shape that a pattern gives; see [Parse].
const Custom = "custom"

// mark is what the fixed beginning of a provider's shape ends with: it tells a
// human what this is, and the scanner where to look.
const mark = "Sallyport"

// providers are the shapes by name. Where a provider publishes no checksum, or
// none that clients verify, the digits are all random.
var providers = []Shape{
	Default,
	{"github", []part{{text: "ghp_" + mark}, {alphabet: alnum, count: 21}, {check: true}}},
	{"github-app", []part{{text: "ghs_" + mark}, {alphabet: alnum, count: 21}, {check: true}}},
	{"github-pat", []part{{text: "github_pat_" + mark}, {alphabet: alnum, count: 13}, {text: "_"}, {alphabet: alnum, count: 53}, {check: true}}},
	{"gitlab", []part{{text: "glpat-" + mark}, {alphabet: alnum, count: 11}}},
	{"openai", []part{{text: "sk-proj-" + mark}, {alphabet: alnum, count: 65}, {text: "T3BlbkFJ"}, {alphabet: alnum, count: 74}}},
	{"anthropic", []part{{text: "sk-ant-api03-" + mark}, {alphabet: alnum, count: 84}, {text: "AA"}}},
	{"slack", []part{{text: "xoxb-000000000000-0000000000000-" + mark}, {alphabet: alnum, count: 15}}},
	{"stripe", []part{{text: "sk_live_" + mark}, {alphabet: alnum, count: 90}}},
	{"stripe-test", []part{{text: "sk_test_" + mark}, {alphabet: alnum, count: 90}}},
	{"aws-access-key-id", []part{{text: "AKIASALLY"}, {alphabet: upper32, count: 11}}},
	{"aws-secret-access-key", []part{{text: mark}, {alphabet: alnum, count: 31}}},
	{"npm", []part{{text: "npm_" + mark}, {alphabet: alnum, count: 21}, {check: true}}},
	{"pypi", []part{{text: "pypi-AgEIcHlwaS5vcmc" + mark}, {alphabet: alnum, count: 148}}},
	{"google", []part{{text: "AIza" + mark}, {alphabet: alnum, count: 26}}},
	// {"alg":"HS256","typ":"JWT"} . {"iss":"sallyport","exp":4102444800} . …
	{"jwt", []part{{text: "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJzYWxseXBvcnQiLCJleHAiOjQxMDI0NDQ4MDB9." + mark}, {alphabet: alnum, count: 34}}},
}

// Named returns the shape called name; empty means [Default]. ok is false for
// an unknown name, [Custom] included.
func Named(name string) (s Shape, ok bool) {
	if name == "" {
		return Default, true
	}
	for _, s := range providers {
		if s.name == name {
			return s, true
		}
	}
	return Shape{}, false
}

// Names returns the names of all shapes, in the order of the table.
func Names() []string {
	names := make([]string, len(providers))
	for i, s := range providers {
		names[i] = s.name
	}
	return names
}

// Len returns the length in bytes of every placeholder of s.
func (s Shape) Len() int {
	n := 0
	for _, p := range s.parts {
		n += len(p.text) + p.count
		if p.check {
			n += checkLen
		}
	}
	return n
}

// Prefix is the fixed text that every placeholder of s begins with.
func (s Shape) Prefix() string {
	if len(s.parts) == 0 {
		return ""
	}
	return s.parts[0].text
}

// Derive returns the placeholder of the given parts: the same for the same key
// and parts, and unrelated for any other (SI-8).
func (s Shape) Derive(key []byte, of ...string) string {
	var info strings.Builder
	for _, text := range append([]string{"sallyport placeholder 2", s.name}, of...) {
		fmt.Fprintf(&info, "%d:%s", len(text), text)
	}
	random := &stream{key: key, info: info.String()}
	var b strings.Builder
	for _, p := range s.parts {
		b.WriteString(p.text)
		for range p.count {
			b.WriteByte(p.alphabet[random.below(len(p.alphabet))])
		}
		if p.check {
			b.WriteString(checksum(b.String()[providerPrefix(s.parts[0].text):]))
		}
	}
	return b.String()
}

// stream is the output of HKDF (RFC 5869 §2.3), a piece at a time.
type stream struct {
	key   []byte
	info  string
	block int
	left  []byte
}

// below returns a number in [0, n), each as likely.
func (s *stream) below(n int) int {
	for {
		if len(s.left) == 0 {
			s.block++
			out, err := hkdf.Expand(sha256.New, s.key, fmt.Sprintf("%s#%d", s.info, s.block), 4*sha256.Size)
			if err != nil {
				panic(err) // the length is fixed and small
			}
			s.left = out
		}
		b := int(s.left[0])
		s.left = s.left[1:]
		if b < 256/n*n {
			return b % n
		}
	}
}
